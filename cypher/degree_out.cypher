// How many edges of any kind leave a node.
// Parameters: id. Places: label. Returns: n.
MATCH (n:<label> {id: $id})-[r]->(m) RETURN count(r) AS n
