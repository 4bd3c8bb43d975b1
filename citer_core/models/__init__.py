"""Models: loading a pair, checking that it shares one vocabulary, and one KV cache per model."""
