// The edges of some heads with their properties, by head: a fraction of the time of a row for each edge.
// Parameters: heads (list of element ids). Places: head, relation, tail, values.
// Returns: head, edges (number), tails (list), and a list a property.
MATCH (a:<head>) WHERE elementId(a) IN $heads
MATCH (a)-[r:<relation>]->(b:<tail>) WITH a, collect(b) AS bs, collect(r) AS rs
RETURN a.id AS head, size(bs) AS edges, [b IN bs | b.id] AS tails<values>
