// Every node of a label with its properties.
// Parameters: none. Places: label, where, properties. Returns: id and a column a property.
MATCH (n:<label>)<where> RETURN n.id AS id<properties>
