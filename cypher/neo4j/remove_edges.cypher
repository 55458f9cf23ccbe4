// Take away the edges that state just this; identical ones go together. For the turn, see create_edges.
// Parameters: rows (list of lists: head, tail, then the properties). Places: head, relation, tail, same.
// Returns: n, the rows for which there was one. For the ends, see edges_between.
OPTIONAL MATCH (turn:KgcheckStore {key: 'load'}) SET turn.value = turn.value WITH count(turn) AS taken
UNWIND $rows AS row MATCH (a:<head> {id: row[0]}) WITH row, collect(a) AS heads MATCH (b:<tail> {id: row[1]})
UNWIND heads AS a MATCH (a)-[r:<relation>]->(b) WHERE true<same>
WITH row, collect(r) AS found FOREACH (r IN found | DELETE r) RETURN count(row) AS n
