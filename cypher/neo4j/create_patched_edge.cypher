// Of a patch as people read it: new edges between nodes that are there, beside as many as before; else it fails.
// Parameters: rows (list of maps: head, tail, set, beside, retired), at, by. Places: head, relation, tail. Returns: done.
UNWIND $rows AS row MATCH (a:<head> {id: row.head}) MATCH (b:<tail> {id: row.tail})
WHERE (a.kgcheck_retired IS NOT NULL) = row.retired[0] AND (b.kgcheck_retired IS NOT NULL) = row.retired[1]
    AND size([(a)-[other:<relation>]->(b) WHERE other.kgcheck_retired IS NULL | 1]) = row.beside
CREATE (a)-[r:<relation>]->(b) SET r += row.set, r.kgcheck_changed_at = $at, r.kgcheck_changed_by = $by
WITH count(*) AS done RETURN done / CASE done WHEN size($rows) THEN 1 ELSE 0 END AS done
