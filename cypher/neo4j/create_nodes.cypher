// New nodes, known not to exist.
// Parameters: rows (list of maps: id, properties). Places: label. Returns: n.
UNWIND $rows AS row CREATE (n:<label> {id: row.id}) SET n += row.properties RETURN count(n) AS n
