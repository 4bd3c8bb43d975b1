"""Times machines: what a pass takes, what that means for a pair, and what load it carries. Judges no router."""
