// Set some properties of one edge.
// Parameters: head_id, tail_id, key. Places: head, relation, tail, values. Returns: n.
MATCH (a:<head> {id: $head_id})-[r:<relation>]->(b:<tail> {id: $tail_id}) WHERE offset(id(r)) = $key
SET <values> RETURN count(r) AS n
