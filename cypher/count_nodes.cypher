// Number of nodes of a label.
// Parameters: none. Places: label. Returns: n.
MATCH (n:<label>) RETURN count(n) AS n
