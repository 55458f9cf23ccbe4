// Every parallel edge of one relation from head to tail.
// Parameters: head_id, tail_id. Places: head, relation, tail, where. Returns: edge.
MATCH (a:<head> {id: $head_id})-[r:<relation>]->(b:<tail> {id: $tail_id})<where> RETURN r AS edge
