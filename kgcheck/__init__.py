"""Tests for biomedical knowledge graphs, where every verdict carries evidence."""

__version__ = "0.1.0"
