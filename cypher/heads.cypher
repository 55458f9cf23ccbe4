// Heads of one relation to a tail.
// Parameters: id, limit. Places: head, relation, tail, where. Returns: id.
MATCH (a:<head>)-[r:<relation>]->(b:<tail> {id: $id})<where> RETURN DISTINCT a.id AS id ORDER BY id LIMIT $limit
