"""Graph files in their owners' forms: recognised by content, read where they lie, opened as a store."""
