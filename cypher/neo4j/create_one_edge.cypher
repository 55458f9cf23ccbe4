// Make one edge between nodes that are there.
// Parameters: head_id, tail_id, values (a map). Places: head, relation, tail. Returns: n.
MATCH (a:<head> {id: $head_id}) MATCH (b:<tail> {id: $tail_id}) CREATE (a)-[r:<relation>]->(b)
SET r += $values RETURN count(r) AS n
