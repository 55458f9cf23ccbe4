// Every edge of a pattern, its ends by where they stand in their tables, in one number: the upper half is the head.
// Parameters: none. Places: head, relation, tail, where. Returns: number.
MATCH (a:<head>)-[r:<relation>]->(b:<tail>)<where> RETURN offset(id(a)) * 4294967296 + offset(id(b)) AS number
