// One node with all that it carries, retired or not.
// Parameters: id. Places: label. Returns: node, labels (list).
MATCH (n:<label> {id: $id}) RETURN n AS node, [label(n)] AS labels
