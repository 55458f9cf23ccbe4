"""A team of three agents (leader, KG agent, validation agent) that checks one thing and shows its work."""
