// Every edge between two tables with all that it carries.
// Places: head, relation, tail. Returns: head, tail, edge.
MATCH (a:<head>)-[r:<relation>]->(b:<tail>) RETURN a.id AS head, b.id AS tail, r AS edge
