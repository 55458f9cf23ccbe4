// Make one node.
// Parameters: none. Places: label, values (the key among them). Returns: n.
CREATE (n:<label> {<values>}) RETURN count(n) AS n
