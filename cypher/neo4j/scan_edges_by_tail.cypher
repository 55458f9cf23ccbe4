// The edges of some tails with their properties, by tail.
// For a relation that leads from one label to many, where reading by head would pass over the edges to all the others.
// Parameters: ends (list of element ids). Places: head, relation, tail, where, gathered (others and rs), values.
// Returns: tail, edges (number), heads (list), and a list a property.
MATCH (b:<tail>) WHERE elementId(b) IN $ends
MATCH (a:<head>)-[r:<relation>]->(b)<where> WITH b, <gathered>
RETURN b.id AS tail, size(others) AS edges, [a IN others | a.id] AS heads<values>
