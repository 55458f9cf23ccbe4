"""Auditing a whole graph: the plan, the tasks, and their resumable execution."""
