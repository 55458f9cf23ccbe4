"""Evidence of sources on tasks, looked up as joins between tasks and a snapshot."""
