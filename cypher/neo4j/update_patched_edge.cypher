// Of a patch as people read it: other values of edges that are as they were, else it fails; of those alike the nth.
// Parameters: rows (list of maps: head, tail, was, set, nth, beside), at, by. Places: head, relation, tail. Returns: done.
// For the ends, see edges_between.
UNWIND $rows AS row MATCH (a:<head> {id: row.head}) WITH row, collect(a) AS heads MATCH (b:<tail> {id: row.tail})
UNWIND heads AS a MATCH (a)-[found:<relation>]->(b)
WHERE all(name IN keys(row.was) WHERE found[name] = row.was[name]) AND found.kgcheck_retired IS NULL
    AND size([(a)-[other:<relation>]->(b) WHERE other.kgcheck_retired IS NULL | 1]) = row.beside
    AND all(name IN keys(found) WHERE name STARTS WITH 'kgcheck_' OR name IN keys(row.was))
WITH row, collect(found)[row.nth] AS r WHERE r IS NOT NULL
SET r += row.set, r.kgcheck_changed_at = $at, r.kgcheck_changed_by = $by,
    r.kgcheck_retired_at = CASE WHEN row.set.kgcheck_retired IS NULL THEN r.kgcheck_retired_at ELSE $at END
WITH count(*) AS done RETURN done / CASE done WHEN size($rows) THEN 1 ELSE 0 END AS done
