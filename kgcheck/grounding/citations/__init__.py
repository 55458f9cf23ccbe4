"""Citations and references of a manuscript against works that are known."""
