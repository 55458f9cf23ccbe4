// Those of the given keys that exist.
// Parameters: ids (list). Places: label. Returns: node.
UNWIND $ids AS wanted MATCH (n:<label> {id: wanted}) RETURN n AS node
