// Every edge of a pattern, its ends by where they stand in their tables.
// Parameters: none. Places: head, relation, tail, where. Returns: head and tail.
MATCH (a:<head>)-[r:<relation>]->(b:<tail>)<where> RETURN offset(id(a)) AS head, offset(id(b)) AS tail
