"""The view Evidence: stored results as curves, and the questions that they answer."""
