// How the edges of the graph are made: their type, in a list, and the names of their properties.
// Parameters: none. Returns: relation, names, n.
MATCH ()-[r]->() RETURN [type(r)] AS relation, keys(r) AS names, count(*) AS n
