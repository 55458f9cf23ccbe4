// Whether any node or edge ever had a property of this name; at once, however large the graph is.
// Parameters: name. Returns: name.
CALL db.propertyKeys() YIELD propertyKey WHERE propertyKey = $name RETURN propertyKey AS name
