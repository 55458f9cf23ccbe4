// Some nodes of a label, whatever they hold.
// Parameters: limit. Places: label. Returns: node.
MATCH (n:<label>) RETURN n AS node LIMIT $limit
