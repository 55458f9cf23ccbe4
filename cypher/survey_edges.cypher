// Some edges between two labels, whatever they hold.
// Parameters: limit. Places: head, relation, tail. Returns: edge.
MATCH (a:<head>)-[r:<relation>]->(b:<tail>) RETURN r AS edge LIMIT $limit
