// Of a patch as people read it: nodes into which others are merged are as they were; fails where one is not.
// Parameters: rows (list of maps: id, was, any). Places: label. Returns: done.
UNWIND $rows AS row MATCH (n:<label> {id: row.id})
WHERE all(name IN keys(row.was) WHERE n[name] = row.was[name] OR (n[name] IS NULL AND row.was[name] IS NULL))
    AND all(name IN keys(n) WHERE name STARTS WITH 'kgcheck_' OR name IN keys(row.was) OR name IN row.any)
    AND n.kgcheck_retired IS NULL
WITH count(*) AS done RETURN done / CASE done WHEN size($rows) THEN 1 ELSE 0 END AS done
