"""Papers and data sets for an objective: queries, search, choice, and data sets looked up by accession."""
