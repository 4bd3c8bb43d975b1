"""The page in a real browser, against a scripted engine."""
