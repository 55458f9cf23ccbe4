// Take away nodes that have no edge.
// Parameters: rows (Arrow table: id). Places: label.
LOAD FROM $rows MATCH (n:<label>) WHERE n.id = id DELETE n
