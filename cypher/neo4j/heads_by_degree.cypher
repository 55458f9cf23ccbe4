// Heads of a pattern and how many edges each has, for reading the edges in pieces of even size.
// Parameters: none. Places: head, relation, tail, where. Returns: head (the node's element id), edges.
MATCH (a:<head>)<where> WITH a, COUNT { (a)-[:<relation>]->(:<tail>) } AS edges WHERE edges > 0
RETURN elementId(a) AS head, edges
