// Some edges between two labels, whatever they hold.
// Parameters: limit. Places: head, relation, tail, where. Returns: edge.
MATCH (a:<head>)-[r:<relation>]->(b:<tail>)<where> RETURN r AS edge LIMIT $limit
