// Keep others from changing the edges of one relation from head to tail until this transaction ends.
// To take away what is not there would hold nothing.
// Parameters: head_id, tail_id. Places: head, relation, tail. Returns: n. For the ends, see edges_between.
MATCH (a:<head> {id: $head_id}) WITH collect(a) AS heads MATCH (b:<tail> {id: $tail_id}) UNWIND heads AS a
MATCH (a)-[r:<relation>]->(b)
WITH r, r.kgcheck_changed AS was SET r.kgcheck_changed = '' SET r.kgcheck_changed = was RETURN count(r) AS n
