// New edges, known not to exist.
// Parameters: rows (list of maps: head, tail, properties). Places: head, relation, tail. Returns: n.
UNWIND $rows AS row MATCH (a:<head> {id: row.head}) MATCH (b:<tail> {id: row.tail})
CREATE (a)-[r:<relation>]->(b) SET r = row.properties RETURN count(r) AS n
