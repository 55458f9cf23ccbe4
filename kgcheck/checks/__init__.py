"""What is checked, and what decides a verdict. Pure: no module here opens a file or a connection."""
