// The value of one setting of the server, for whom it may be seen.
// Parameters: name.
// Returns: value.
SHOW SETTINGS YIELD name, value WHERE name = $name RETURN value
