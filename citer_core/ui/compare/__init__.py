"""The Compare tab: one problem answered in several ways, recorded or live."""
