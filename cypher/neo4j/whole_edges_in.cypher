// Every edge of a pattern that reaches a node, retired or not.
// Parameters: id. Places: head, relation, tail. Returns: other, edge (a map), key.
MATCH (a:<head>)-[r:<relation>]->(b:<tail> {id: $id})
RETURN a.id AS other, properties(r) AS edge, elementId(r) AS key
