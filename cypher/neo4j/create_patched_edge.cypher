// Of a patch as people read it: new edges between nodes that are there; fails where one is not made.
// Parameters: rows (list of maps: head, tail, set), at, by. Places: head, relation, tail. Returns: done.
UNWIND $rows AS row MATCH (a:<head> {id: row.head}) MATCH (b:<tail> {id: row.tail})
CREATE (a)-[r:<relation>]->(b) SET r += row.set, r.kgcheck_changed_at = $at, r.kgcheck_changed_by = $by
WITH count(*) AS done RETURN done / CASE done WHEN size($rows) THEN 1 ELSE 0 END AS done
