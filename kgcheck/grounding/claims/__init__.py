"""Claims of the papers of an index, how they stand to each other, and who cites whom."""
