// Set the properties of nodes that exist; a null takes the property away.
// Parameters: rows (list of lists: id, then the properties). Places: label, properties. Returns: n.
UNWIND $rows AS row MATCH (n:<label> {id: row[0]}) SET n += {<properties>} RETURN count(n) AS n
