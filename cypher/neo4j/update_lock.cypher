// Keep others from changing a node, and the edges at it, until this transaction ends; it stays as it is.
// Parameters: id. Places: label, key. Returns: n.
MATCH (n:<label> {id: $id}) SET n.<key> = n.<key> WITH n
OPTIONAL MATCH (n)-[r]-() SET r.kgcheck_changed = r.kgcheck_changed RETURN count(r) AS n
