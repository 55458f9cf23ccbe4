// Every node of a label: where it stands in its table, and its key.
// Parameters: none. Places: label. Returns: place, id.
MATCH (n:<label>) RETURN offset(id(n)) AS place, n.id AS id
