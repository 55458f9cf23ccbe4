// Number of nodes of a table that carry a property.
// Parameters: none. Places: table, property, also. Returns: n.
MATCH (n:<table>) WHERE n.<property> IS NOT NULL<also> RETURN count(n) AS n
