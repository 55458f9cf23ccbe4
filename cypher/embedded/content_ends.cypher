// The tables that have edges, and those of their ends.
// Parameters: none. Returns: head, relation, tail.
MATCH (a)-[r]->(b) RETURN DISTINCT label(a) AS head, label(r) AS relation, label(b) AS tail
