// The name of the store, and in which state labels and patterns are; whether a load is under way.
// Parameters: none. Returns: key, value.
MATCH (m:KgcheckStore) WHERE m.key IN ['store_id', 'load'] OR m.key STARTS WITH 'state '
RETURN m.key AS key, m.value AS value
