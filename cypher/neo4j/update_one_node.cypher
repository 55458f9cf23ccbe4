// Set some properties of one node; a null takes the property away.
// Parameters: id, values (a map). Places: label. Returns: n.
MATCH (n:<label> {id: $id}) SET n += $values RETURN count(n) AS n
