"""Recognise the form of a graph's files by their content."""


