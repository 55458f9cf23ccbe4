// Keep others from changing the edges of one relation from head to tail until this transaction ends.
// Parameters: head_id, tail_id. Places: head, relation, tail. Returns: n. For the ends, see edges_between.
MATCH (a:<head> {id: $head_id}) WITH collect(a) AS heads MATCH (b:<tail> {id: $tail_id}) UNWIND heads AS a
MATCH (a)-[r:<relation>]->(b) SET r.kgcheck_changed = r.kgcheck_changed RETURN count(r) AS n
