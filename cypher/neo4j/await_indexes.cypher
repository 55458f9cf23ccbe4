// Wait until new indexes serve.
CALL db.awaitIndexes(300)
