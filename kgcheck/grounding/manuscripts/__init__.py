"""Manuscripts read from their files: Markdown, LaTeX, Word, JATS, PDF and plain text."""
