"""What decides an agent's next step."""
