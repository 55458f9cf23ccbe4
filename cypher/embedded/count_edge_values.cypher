// Number of edges of a table that carry a property.
// Parameters: none. Places: table, property. Returns: n.
MATCH ()-[r:<table>]->() WHERE r.<property> IS NOT NULL RETURN count(r) AS n
