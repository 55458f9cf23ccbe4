// Every edge of a pattern with its properties, by head: half the time of a row for each edge.
// Parameters: none. Places: head, relation, tail, values.
// Returns: head, edges (list of lists: tail, then the properties).
MATCH (a:<head>) WHERE EXISTS { (a)-[:<relation>]->(:<tail>) }
RETURN a.id AS head, [(a)-[r:<relation>]->(b:<tail>) | [b.id<values>]] AS edges
