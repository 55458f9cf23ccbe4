// When the files of the database were made: an import makes new ones, whose transactions are numbered from the start.
// Returns: created.
CALL db.info() YIELD creationDate RETURN creationDate AS created
