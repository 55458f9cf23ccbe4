// Of a patch as people read it: other values of nodes that are as they were.
// Parameters: rows (list of maps: id, was, set), at, by. Places: label.
UNWIND $rows AS row MATCH (n:<label> {id: row.id})
WHERE all(name IN keys(row.was) WHERE n[name] = row.was[name] OR (n[name] IS NULL AND row.was[name] IS NULL))
SET n += row.set, n.kgcheck_changed_at = $at, n.kgcheck_changed_by = $by,
    n.kgcheck_retired_at = CASE WHEN row.set.kgcheck_retired IS NULL THEN n.kgcheck_retired_at ELSE $at END
