// Every edge of a pattern that leaves a node, retired or not.
// Parameters: id. Places: head, relation, tail. Returns: other, edge (a map), key.
MATCH (a:<head> {id: $id})-[r:<relation>]->(b:<tail>)
RETURN b.id AS other, properties(r) AS edge, elementId(r) AS key
