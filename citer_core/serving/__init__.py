"""Serving many visitors at once: who goes next, and many runs in one batch. Knows no gradio and no page."""
