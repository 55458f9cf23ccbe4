// Nodes of a label by their name, exactly as written.
// Parameters: name, limit. Places: label, also. Returns: id.
MATCH (n:<label>) WHERE n.`name` = $name<also> RETURN n.id AS id ORDER BY id LIMIT $limit
