"""What becomes of findings: comparison, decisions, repairs that can be undone, and jobs that run by themselves."""
