"""Training: preference labels for every ground-truth token, and the router that learns from them."""
