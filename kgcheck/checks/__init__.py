"""Subjects of checks, and the rules of a verdict. Pure: no module here opens a file or a connection."""
