// The tables that have nodes.
// Parameters: none. Returns: label.
MATCH (n) RETURN DISTINCT label(n) AS label
