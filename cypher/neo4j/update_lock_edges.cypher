// Keep others from changing the edges at a node until this transaction ends; they stay as they are.
// Parameters: id. Places: label. Returns: n.
MATCH (n:<label> {id: $id})-[r]-() SET r.kgcheck_changed = r.kgcheck_changed RETURN count(r) AS n
