"""Helpers that the tests share and that are not tests themselves."""
