// Undo what a transaction did.
ROLLBACK
