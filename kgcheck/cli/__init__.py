"""The command line: each command builds a workspace, calls one method of it, and shows what comes of it."""
