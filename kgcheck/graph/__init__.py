"""The graph under test: the store protocol, the stores that keep it, and the queries."""
