// Labels that some node carries.
// Returns: name.
CALL db.labels() YIELD label RETURN label AS name
