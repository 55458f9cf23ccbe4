// Number of edges of a table.
// Parameters: none. Places: table, where. Returns: n.
MATCH ()-[r:<table>]->()<where> RETURN count(r) AS n
