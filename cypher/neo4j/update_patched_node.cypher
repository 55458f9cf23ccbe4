// Of a patch as people read it: other values of nodes that are as they were; fails where one is not.
// It fails, too, where one that is to be retired has an edge left.
// Parameters: rows (list of maps: id, was, any, set), at, by. Places: label. Returns: done.
UNWIND $rows AS row MATCH (n:<label> {id: row.id})
WHERE all(name IN keys(row.was) WHERE n[name] = row.was[name] OR (n[name] IS NULL AND row.was[name] IS NULL))
    AND all(name IN keys(n) WHERE name STARTS WITH 'kgcheck_' OR name IN keys(row.was) OR name IN row.any)
    AND (row.set.kgcheck_retired IS NULL OR NOT EXISTS { MATCH (n)-[r]-() WHERE r.kgcheck_retired IS NULL })
SET n += row.set, n.kgcheck_changed_at = $at, n.kgcheck_changed_by = $by,
    n.kgcheck_retired_at = CASE WHEN row.set.kgcheck_retired IS NULL THEN n.kgcheck_retired_at ELSE $at END
WITH count(*) AS done RETURN done / CASE done WHEN size($rows) THEN 1 ELSE 0 END AS done
