// Set some properties of one edge; a null takes the property away. For the ends, see edges_between.
// Parameters: head_id, tail_id, key, values (a map). Places: head, relation, tail. Returns: n.
MATCH (a:<head> {id: $head_id}) WITH collect(a) AS heads MATCH (b:<tail> {id: $tail_id}) UNWIND heads AS a
MATCH (a)-[r:<relation>]->(b) WHERE elementId(r) = $key SET r += $values RETURN count(r) AS n
