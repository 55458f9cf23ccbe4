// Number of edges of a table.
// Parameters: none. Places: table. Returns: n.
MATCH ()-[r:<table>]->() RETURN count(r) AS n
