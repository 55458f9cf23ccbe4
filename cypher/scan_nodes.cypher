// Every node of a label with its properties.
// Parameters: none. Places: label, properties. Returns: id and a column a property.
MATCH (n:<label>) RETURN n.id AS id<properties>
