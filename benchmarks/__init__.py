"""Measurements, each against the raw engine in the same run: `make bench`."""
