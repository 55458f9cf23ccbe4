// Those of the given keys that exist.
// Parameters: ids (list). Places: label. Returns: node (a map).
UNWIND $ids AS wanted MATCH (n:<label> {id: wanted}) RETURN properties(n) AS node
