// Take away the edges that state just this; identical ones go together. For the turn, see create_edges.
// Parameters: rows (list of lists: head, tail, then the properties). Places: head, relation, tail, same.
// Returns: n, the rows for which there was one.
OPTIONAL MATCH (turn:KgcheckStore {key: 'load'}) SET turn.value = turn.value WITH count(turn) AS taken
UNWIND $rows AS row MATCH (a:<head> {id: row[0]})-[r:<relation>]->(b:<tail> {id: row[1]}) WHERE true<same>
WITH row, collect(r) AS found FOREACH (r IN found | DELETE r) RETURN count(row) AS n
