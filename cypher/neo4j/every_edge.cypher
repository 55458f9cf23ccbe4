// Every edge of a graph of any kind, whatever it holds.
// Parameters: none. Places: where. Returns: head and tail (the server's own numbers), relation, properties.
MATCH (a)-[r]->(b)<where> RETURN id(a) AS head, id(b) AS tail, type(r) AS relation, properties(r) AS properties
