"""Standards that rules go by, as tables of facts: the Biolink model and the Bioregistry."""
