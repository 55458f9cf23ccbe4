"""Helpers that the tests share and that are not tests themselves."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
