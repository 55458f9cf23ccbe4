"""Statements of sentences about a graph, and their verdicts."""
