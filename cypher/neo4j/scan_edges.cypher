// The edges of some heads with their properties, by head: a fraction of the time of a row for each edge.
// Parameters: ends (list of element ids). Places: head, relation, tail, where, gathered (others and rs), values.
// Returns: head, edges (number), tails (list), and a list a property.
MATCH (a:<head>) WHERE elementId(a) IN $ends
MATCH (a)-[r:<relation>]->(b:<tail>)<where> WITH a, <gathered>
RETURN a.id AS head, size(others) AS edges, [b IN others | b.id] AS tails<values>
