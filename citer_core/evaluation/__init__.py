"""Evaluation: metrics of a router, accuracy and cost of a pair, benchmarks of the machine."""
