// One step against a relation from one tail: much faster than many at once, for few.
// Parameters: id. Places: head, relation, tail, properties. Returns: wanted, id and a column a property.
MATCH (a:<head>)-[r:<relation>]->(b:<tail> {id: $id}) RETURN b.id AS wanted, a.id AS id<properties>
