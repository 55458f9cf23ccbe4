"""Questions over the graph: understood without a model, or answered by one that may only read."""
