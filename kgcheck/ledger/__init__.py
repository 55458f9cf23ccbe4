"""Runs and what they found, kept in SQL."""
