"""Auditing a whole graph: the plan, its resumable execution, and the ledger of what was found."""
