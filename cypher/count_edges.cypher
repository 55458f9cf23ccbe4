// Number of edges of a pattern, parallel ones counted each.
// Parameters: none. Places: head, relation, tail. Returns: n.
MATCH (a:<head>)-[r:<relation>]->(b:<tail>) RETURN count(r) AS n
