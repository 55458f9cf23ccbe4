"""Benchmarks: made sets, resumable runs over them, metrics and reports."""
