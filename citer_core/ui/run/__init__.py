"""A run on the page: asked, in line, decoded, sent to its viewer, and gone on with."""
