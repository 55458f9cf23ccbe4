// Number of edges of a relation within a label whose ends are joined in the other direction, too.
// Parameters: none. Places: head, relation, where. Returns: n.
MATCH (a:<head>)-[r:<relation>]->(b:<head>)-[s:<relation>]->(a)<where> RETURN count(DISTINCT r) AS n
