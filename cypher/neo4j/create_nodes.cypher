// New nodes, known not to exist.
// Parameters: rows (list of lists: id, then the properties). Places: label, properties. Returns: n.
UNWIND $rows AS row CREATE (n:<label> {<properties>}) RETURN count(n) AS n
