// Make one node.
// Parameters: id, values (a map). Places: label. Returns: n.
CREATE (n:<label> {id: $id}) SET n += $values RETURN count(n) AS n
