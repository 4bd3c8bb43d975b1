"""Training: the routers that learn from preference labels, rounds of both, and the SLM's own fine-tuning."""
