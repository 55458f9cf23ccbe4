// What kgcheck wrote down under one key.
// Parameters: key. Returns: value.
MATCH (m:KgcheckStore {key: $key}) RETURN m.value AS value
