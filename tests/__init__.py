"""Tests of the project; `fakes` and `browser` are shared by many of them."""
