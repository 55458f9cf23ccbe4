// Every node of a graph of any kind, whatever it holds.
// Parameters: none. Places: where. Returns: number (the server's own), labels, properties.
MATCH (n)<where> RETURN id(n) AS number, labels(n) AS labels, properties(n) AS properties
