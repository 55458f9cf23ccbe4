// Keep others from changing a node, and from making edges at it, until this transaction ends; it stays as it is.
// Parameters: id. Places: label, key. Returns: n.
MATCH (n:<label> {id: $id}) SET n.<key> = n.<key> RETURN count(n) AS n
