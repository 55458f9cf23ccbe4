"""Text against the graph, papers and its own citations: what each sentence rests on."""
