// Number of edges of a pattern, parallel ones counted each.
// Parameters: none. Places: head, relation, tail, where. Returns: n.
MATCH (a:<head>)-[r:<relation>]->(b:<tail>)<where> RETURN count(r) AS n
