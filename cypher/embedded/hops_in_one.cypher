// One step against a relation from one tail: much faster than many at once, for few.
// Parameters: id, limit. Places: head, relation, tail, where, properties. Returns: wanted, id and a column a property.
MATCH (a:<head>)-[r:<relation>]->(b:<tail> {id: $id})<where> RETURN b.id AS wanted, a.id AS id<properties> LIMIT $limit
