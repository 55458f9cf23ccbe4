// Set some properties of one node.
// Parameters: id. Places: label, values. Returns: n.
MATCH (n:<label> {id: $id}) SET <values> RETURN count(n) AS n
