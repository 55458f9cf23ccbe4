// Take one node away that has no edge.
// Parameters: id. Places: label. Returns: n.
MATCH (n:<label> {id: $id}) DELETE n RETURN count(*) AS n
