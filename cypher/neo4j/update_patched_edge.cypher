// Of a patch as people read it: other values of edges that are as they were, of several that are alike the nth.
// Parameters: rows (list of maps: head, tail, was, set, nth), at, by. Places: head, relation, tail.
UNWIND $rows AS row MATCH (a:<head> {id: row.head})-[found:<relation>]->(b:<tail> {id: row.tail})
WHERE all(name IN keys(row.was) WHERE found[name] = row.was[name]) AND found.kgcheck_retired IS NULL
WITH row, collect(found)[row.nth] AS r
SET r += row.set, r.kgcheck_changed_at = $at, r.kgcheck_changed_by = $by,
    r.kgcheck_retired_at = CASE WHEN row.set.kgcheck_retired IS NULL THEN r.kgcheck_retired_at ELSE $at END
