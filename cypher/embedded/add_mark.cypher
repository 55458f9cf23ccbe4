// A column for a mark of curation in a table that was made without; a store that has it stays as it is.
// Places: table, mark.
ALTER TABLE <table> ADD IF NOT EXISTS <mark> STRING
