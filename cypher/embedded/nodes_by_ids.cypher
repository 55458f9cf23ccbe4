// Those of the given keys that exist.
// Parameters: ids (list). Places: label, where. Returns: node.
UNWIND $ids AS wanted MATCH (n:<label> {id: wanted})<where> RETURN n AS node
