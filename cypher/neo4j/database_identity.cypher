// The database's own id, and when its files were made.
// An import makes new files, whose transactions are numbered from the start.
// Returns: id, created.
CALL db.info() YIELD id, creationDate RETURN id, creationDate AS created
