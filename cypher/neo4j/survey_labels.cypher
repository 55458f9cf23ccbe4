// Which labels stand together on nodes.
// Parameters: none. Places: where. Returns: labels, n.
MATCH (n)<where> RETURN labels(n) AS labels, count(*) AS n
