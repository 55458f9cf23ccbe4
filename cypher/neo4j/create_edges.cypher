// New edges, known not to exist, between nodes that do.
// Parameters: rows (list of lists: head, tail, then the properties). Places: head, relation, tail, properties. Returns: n.
UNWIND $rows AS row MATCH (a:<head> {id: row[0]}) MATCH (b:<tail> {id: row[1]})
CREATE (a)-[r:<relation> {<properties>}]->(b) RETURN count(r) AS n
