// Number of edges of a table that carry a property.
// Parameters: none. Places: table, property, also. Returns: n.
MATCH ()-[r:<table>]->() WHERE r.<property> IS NOT NULL<also> RETURN count(r) AS n
