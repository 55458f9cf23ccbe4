// Number of edges of a relation that lead from a node of a label to itself.
// Parameters: none. Places: head, relation, where. Returns: n.
MATCH (a:<head>)-[r:<relation>]->(a)<where> RETURN count(r) AS n
