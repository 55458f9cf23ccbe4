"""A client for OpenAI-compatible endpoints, bound forms, and budgets."""
