// Every parallel edge of one relation from head to tail, retired or not, with what names it in this transaction.
// For the ends, see edges_between.
// Parameters: head_id, tail_id. Places: head, relation, tail. Returns: edge (a map), key.
MATCH (a:<head> {id: $head_id}) WITH collect(a) AS heads MATCH (b:<tail> {id: $tail_id}) UNWIND heads AS a
MATCH (a)-[r:<relation>]->(b) RETURN properties(r) AS edge, elementId(r) AS key
