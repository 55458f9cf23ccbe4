// Edges of a relation, and those that begin or end at a label: the server keeps these numbers, however large the graph is.
// Parameters: none. Places: head, relation, tail. Returns: n: of all, of those from the head, of those to the tail.
MATCH ()-[r:<relation>]->() RETURN count(r) AS n
UNION ALL MATCH (:<head>)-[r:<relation>]->() RETURN count(r) AS n
UNION ALL MATCH ()-[r:<relation>]->(:<tail>) RETURN count(r) AS n
