// One node by its key.
// Parameters: id. Places: label. Returns: node.
MATCH (n:<label> {id: $id}) RETURN n AS node
