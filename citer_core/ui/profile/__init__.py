"""The tab "Is routing worth it here?": a recorded profile, and one of this device."""
