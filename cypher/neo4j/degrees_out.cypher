// How many edges of each relation leave a node, of any kind.
// Parameters: id. Places: label. Returns: relation, n.
MATCH (n:<label> {id: $id})-[r]->() RETURN type(r) AS relation, count(r) AS n
