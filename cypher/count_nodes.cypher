// Number of nodes of a label.
// Parameters: none. Places: label, where. Returns: n.
MATCH (n:<label>)<where> RETURN count(n) AS n
