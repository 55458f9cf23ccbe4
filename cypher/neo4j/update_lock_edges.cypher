// Keep others from changing the edges at a node until this transaction ends; they stay as they are.
// To take away what is not there would hold nothing.
// Parameters: id. Places: label. Returns: n.
MATCH (n:<label> {id: $id})-[r]-()
WITH r, r.kgcheck_changed AS was SET r.kgcheck_changed = '' SET r.kgcheck_changed = was RETURN count(r) AS n
