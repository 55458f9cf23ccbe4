// Which labels stand together on nodes.
// Parameters: none. Returns: labels, n.
MATCH (n) RETURN labels(n) AS labels, count(*) AS n
