"""Designing a protocol from reports, data sets and verified facts: with rules alone, or with a model and a reviewer."""
