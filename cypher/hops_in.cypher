// One step against a relation from each of many tails, with the edges that were taken.
// Parameters: ids (list), limit. Places: head, relation, tail, where, properties. Returns: wanted, id and a column a property.
UNWIND $ids AS wanted MATCH (a:<head>)-[r:<relation>]->(b:<tail> {id: wanted})<where> RETURN wanted, a.id AS id<properties> LIMIT $limit
