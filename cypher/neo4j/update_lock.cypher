// Keep others from changing a node, and the edges at it, until this transaction ends; it stays as it is.
// Parameters: id. Places: label. Returns: n.
MATCH (n:<label> {id: $id}) SET n.id = n.id WITH n
OPTIONAL MATCH (n)-[r]-() SET r.kgcheck_changed = r.kgcheck_changed RETURN count(r) AS n
