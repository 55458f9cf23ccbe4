// Every parallel edge of one relation from head to tail.
// Parameters: head_id, tail_id. Places: head, relation, tail, where. Returns: edge (a map).
// Both ends are looked up first: in one pattern, all edges of the head are gone through, and a hub has millions.
MATCH (a:<head> {id: $head_id}) WITH collect(a) AS heads MATCH (b:<tail> {id: $tail_id}) UNWIND heads AS a
MATCH (a)-[r:<relation>]->(b)<where> RETURN properties(r) AS edge
