"""A kind of graph, read from its folder under loaders/: schema, checks, words, and the recipes of its files."""
