"""Papers as evidence: documents, an index over them, search, and the stance of a passage to a claim."""
