// Every edge of a pattern with its properties.
// Parameters: none. Places: head, relation, tail, where, properties. Returns: head, tail and a column a property.
MATCH (a:<head>)-[r:<relation>]->(b:<tail>)<where> RETURN a.id AS head, b.id AS tail<properties>
