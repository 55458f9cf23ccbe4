// Some nodes of a label, whatever they hold.
// Parameters: limit. Places: label, where. Returns: node.
MATCH (n:<label>)<where> RETURN n AS node LIMIT $limit
