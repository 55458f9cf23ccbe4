"""Programs of a protocol's steps: tasks, ready analyses, and the sandbox in which what a model wrote is run."""
