// Every parallel edge of one relation from head to tail, retired or not, with what names it in this transaction.
// Parameters: head_id, tail_id. Places: head, relation, tail. Returns: edge, key.
MATCH (a:<head> {id: $head_id})-[r:<relation>]->(b:<tail> {id: $tail_id}) RETURN r AS edge, offset(id(r)) AS key
