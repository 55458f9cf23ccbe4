// Take away the edges that state just this; identical ones go together.
// Parameters: rows (list of lists: head, tail, then the properties). Places: head, relation, tail, same.
// Returns: n, the rows for which there was one.
UNWIND $rows AS row MATCH (a:<head> {id: row[0]})-[r:<relation>]->(b:<tail> {id: row[1]}) WHERE true<same>
WITH row, collect(r) AS found FOREACH (r IN found | DELETE r) RETURN count(row) AS n
