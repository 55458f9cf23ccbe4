// Set some properties of one edge; a null takes the property away.
// Parameters: head_id, tail_id, key, values (a map). Places: head, relation, tail. Returns: n.
MATCH (a:<head> {id: $head_id})-[r:<relation>]->(b:<tail> {id: $tail_id}) WHERE elementId(r) = $key
SET r += $values RETURN count(r) AS n
