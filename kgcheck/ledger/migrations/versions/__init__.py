"""The revisions: the format of the release before, and the step from it to the tables of the code."""
