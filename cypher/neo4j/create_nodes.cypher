// New nodes, known not to exist.
// Parameters: rows (list of maps: id, properties). Places: label.
UNWIND $rows AS row CREATE (n:<label> {id: row.id}) SET n += row.properties
