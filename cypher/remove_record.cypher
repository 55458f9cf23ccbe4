// Forget what kgcheck wrote down under one key.
// Parameters: key.
MATCH (m:KgcheckStore {key: $key}) DELETE m
