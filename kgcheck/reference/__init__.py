"""Pinned snapshots of reference sources: build, download, derive, compare; live answers over a snapshot."""
