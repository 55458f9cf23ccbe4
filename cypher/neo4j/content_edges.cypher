// Every edge with all that it and its ends carry.
// Parameters: none. Returns: head (labels and a map), relation, tail, edge (a map).
MATCH (a)-[r]->(b)
RETURN [labels(a), properties(a)] AS head, type(r) AS relation, [labels(b), properties(b)] AS tail, properties(r) AS edge
