// One node with all that it carries, retired or not.
// Parameters: id. Places: label. Returns: node (a map), labels (list).
MATCH (n:<label> {id: $id}) RETURN properties(n) AS node, labels(n) AS labels
