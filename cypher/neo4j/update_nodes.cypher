// Set the properties of nodes that exist; a null takes the property away.
// Parameters: rows (list of maps: id, properties). Places: label. Returns: n.
UNWIND $rows AS row MATCH (n:<label> {id: row.id}) SET n += row.properties RETURN count(n) AS n
