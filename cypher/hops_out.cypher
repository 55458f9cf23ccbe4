// One step along a relation from each of many heads, with the edges that were taken.
// Parameters: ids (list), limit. Places: head, relation, tail, where, properties. Returns: wanted, id and a column a property.
UNWIND $ids AS wanted MATCH (a:<head> {id: wanted})-[r:<relation>]->(b:<tail>)<where> RETURN wanted, b.id AS id<properties> LIMIT $limit
