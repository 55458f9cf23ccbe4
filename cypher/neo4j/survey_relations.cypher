// Which labels the edges of each type join.
// Parameters: none. Places: where. Returns: relation, heads (labels), tails (labels), n.
MATCH (a)-[r]->(b)<where> RETURN type(r) AS relation, labels(a) AS heads, labels(b) AS tails, count(*) AS n
