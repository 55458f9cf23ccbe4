// The database's own id, and when its files were made: an import makes new ones, whose transactions are numbered from
// the start.
// Returns: id, created.
CALL db.info() YIELD id, creationDate RETURN id, creationDate AS created
