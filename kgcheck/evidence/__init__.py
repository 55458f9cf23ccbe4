"""What sources say of a task, looked up as joins between tasks and a snapshot."""
