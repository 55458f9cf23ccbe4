"""Comparison of findings from run to run, decisions about them, patches, and scheduled jobs."""
