// Which tables an edge table joins.
// Parameters: none. Places: table (quoted as text). Returns: head, tail.
CALL show_connection(<table>) RETURN `source table name` AS head, `destination table name` AS tail
