// Every node with all that it carries.
// Parameters: none. Returns: labels, node (a map).
MATCH (n) WHERE NOT n:KgcheckStore RETURN labels(n) AS labels, properties(n) AS node
