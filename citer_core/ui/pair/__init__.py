"""The pair of models of a page: which may be chosen, which is loaded, and the change from one to another."""
