"""Routing: what the router sees, who it prefers, and the decode loop that follows it."""
