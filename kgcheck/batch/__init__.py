"""Benchmarks and other long lists of questions: resumable batches with metrics and reports."""
