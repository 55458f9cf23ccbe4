// Relation types that some edge carries.
// Returns: name.
CALL db.relationshipTypes() YIELD relationshipType AS name RETURN name
