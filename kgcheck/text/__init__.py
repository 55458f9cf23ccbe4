"""English sentences: tokens, clauses, and what they assert, deny, ask or doubt."""
