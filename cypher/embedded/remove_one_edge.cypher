// Take one edge away.
// Parameters: head_id, tail_id, key. Places: head, relation, tail. Returns: n.
MATCH (a:<head> {id: $head_id})-[r:<relation>]->(b:<tail> {id: $tail_id}) WHERE offset(id(r)) = $key
DELETE r RETURN count(*) AS n
