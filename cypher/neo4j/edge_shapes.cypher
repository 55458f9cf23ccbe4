// How the edges of the graph are made: their type, in a list, and the names of their properties.
// Parameters: none. Places: where. Returns: relation, names, n.
MATCH (a)-[r]->(b)<where> RETURN [type(r)] AS relation, keys(r) AS names, count(*) AS n
