// How the nodes of the graph are made: their labels and the names of their properties.
// Parameters: none. Places: where. Returns: labels, names, n.
MATCH (n)<where> RETURN labels(n) AS labels, keys(n) AS names, count(*) AS n
