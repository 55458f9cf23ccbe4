"""Reference sources: what the outside world says, from pinned snapshots (and, later, live services)."""
