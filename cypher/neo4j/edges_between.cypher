// Every parallel edge of one relation from head to tail.
// Parameters: head_id, tail_id. Places: head, relation, tail, where. Returns: edge (a map).
MATCH (a:<head> {id: $head_id})-[r:<relation>]->(b:<tail> {id: $tail_id})<where> RETURN properties(r) AS edge
