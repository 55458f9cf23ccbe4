// Of a patch as people read it: new nodes, of ids that none has; fails where one is not made.
// Parameters: rows (list of maps: id, set), at, by. Places: label. Returns: done.
UNWIND $rows AS row WITH row WHERE NOT EXISTS { MATCH (:<label> {id: row.id}) }
CREATE (n:<label> {id: row.id})
SET n += row.set, n.kgcheck_changed_at = $at, n.kgcheck_changed_by = $by
WITH count(*) AS done RETURN done / CASE done WHEN size($rows) THEN 1 ELSE 0 END AS done
