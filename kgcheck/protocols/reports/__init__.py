"""Reading what papers did: experimental reports by rules, and what of them an objective can use."""
