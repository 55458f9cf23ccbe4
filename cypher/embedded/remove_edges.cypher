// Take away the edges that state just this; identical ones go together.
// Parameters: rows (Arrow table: head, tail and a column a property). Places: head, relation, tail, same.
LOAD FROM $rows MATCH (a:<head>)-[r:<relation>]->(b:<tail>) WHERE a.id = head AND b.id = tail<same> DELETE r
