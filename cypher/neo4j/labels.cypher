// Labels that some node carries.
// Returns: name.
CALL db.labels() YIELD label CALL { WITH label MATCH (n) WHERE label IN labels(n) RETURN true AS used LIMIT 1 } RETURN label AS name
