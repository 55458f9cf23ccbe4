// New edges, known not to exist, between nodes that do.
// Two transactions that create edges at the same nodes can wait for each other for ever. So each takes the load's own
// node first: while one creates, the next is only sent and read.
// Parameters: rows (list of lists: head, tail, then the properties). Places: head, relation, tail, properties. Returns: n.
OPTIONAL MATCH (turn:KgcheckStore {key: 'load'}) SET turn.value = turn.value WITH count(turn) AS taken
UNWIND $rows AS row MATCH (a:<head> {id: row[0]}) MATCH (b:<tail> {id: row[1]})
CREATE (a)-[r:<relation> {<properties>}]->(b) RETURN count(r) AS n
