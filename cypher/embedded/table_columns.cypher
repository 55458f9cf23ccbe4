// The columns of a table, in the order in which they were made.
// Parameters: none. Places: table (quoted as text). Returns: name.
CALL table_info(<table>) RETURN name
