"""The page without Python behind it: a folder for any web server (`python -m citer_core static`)."""
