// What kgcheck wrote down about the store itself.
// Parameters: none. Returns: key, value.
MATCH (m:KgcheckStore) RETURN m.key AS key, m.value AS value
