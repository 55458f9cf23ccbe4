"""Structure rules of ours."""
