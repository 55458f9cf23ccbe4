"""What sentences state about a graph, and whether it holds."""
