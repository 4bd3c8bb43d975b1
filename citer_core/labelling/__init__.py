"""Preference labels: which model is to be preferred at each token of a known right text, and how that is found out."""
