"""The routes under ``/v1``, a module a concern."""
