"""Decoding for many at once: what stands between those who ask for runs and the models. Knows no page."""
