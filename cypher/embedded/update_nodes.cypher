// Set the properties of nodes that exist, from an Arrow table.
// Parameters: rows (Arrow table: id and a column a property). Places: label, assignments.
LOAD FROM $rows MATCH (n:<label>) WHERE n.id = id SET <assignments>
