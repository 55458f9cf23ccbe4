"""Protocols of dry-lab studies that stand on verified facts: designed, typed, checked, and run in a sandbox."""
