// Tails of one relation from a head.
// Parameters: id, limit. Places: head, relation, tail, where. Returns: id.
MATCH (a:<head> {id: $id})-[r:<relation>]->(b:<tail>)<where> RETURN DISTINCT b.id AS id ORDER BY id LIMIT $limit
