// Edges of a relation, all or those at a label: the server keeps these numbers, however large the graph is.
// Parameters: none. Places: head, tail (nothing, or : and a label), relation. Returns: n.
MATCH (<head>)-[r:<relation>]->(<tail>) RETURN count(r) AS n
