// Of a patch as people read it: new nodes.
// Parameters: rows (list of maps: id, set), at, by. Places: label.
UNWIND $rows AS row CREATE (n:<label> {id: row.id})
SET n += row.set, n.kgcheck_changed_at = $at, n.kgcheck_changed_by = $by
