// Take away nodes that have no edge.
// Parameters: rows (list of lists: id). Places: label. Returns: n.
UNWIND $rows AS row MATCH (n:<label> {id: row[0]}) DELETE n RETURN count(*) AS n
