"""The Labels tab: what it is given, its analyses, and what is kept of them."""
