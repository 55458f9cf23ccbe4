// Tables that exist.
// Returns: name, type (NODE or REL).
CALL show_tables() RETURN name, type
