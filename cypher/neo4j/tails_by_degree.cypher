// Tails of a pattern and how many edges each has; see heads_by_degree.
// Parameters: none. Places: head, relation, tail, where. Returns: tail (the node's element id), edges.
MATCH (b:<tail>)<where> WITH b, COUNT { (:<head>)-[:<relation>]->(b) } AS edges WHERE edges > 0
RETURN elementId(b) AS tail, edges
