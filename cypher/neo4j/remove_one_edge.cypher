// Take one edge away.
// Parameters: head_id, tail_id, key. Places: head, relation, tail. Returns: n. For the ends, see edges_between.
MATCH (a:<head> {id: $head_id}) WITH collect(a) AS heads MATCH (b:<tail> {id: $tail_id}) UNWIND heads AS a
MATCH (a)-[r:<relation>]->(b) WHERE elementId(r) = $key DELETE r RETURN count(*) AS n
