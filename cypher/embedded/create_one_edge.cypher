// Make one edge between nodes that are there.
// Parameters: head_id, tail_id. Places: head, relation, tail, values. Returns: n.
MATCH (a:<head> {id: $head_id}), (b:<tail> {id: $tail_id}) CREATE (a)-[r:<relation> {<values>}]->(b)
RETURN count(r) AS n
