// One step along a relation from one head: much faster than many at once, for few.
// Parameters: id, limit. Places: head, relation, tail, where, properties. Returns: wanted, id and a column a property.
MATCH (a:<head> {id: $id})-[r:<relation>]->(b:<tail>)<where> RETURN a.id AS wanted, b.id AS id<properties> LIMIT $limit
