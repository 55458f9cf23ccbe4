// Write down one thing about the store.
// Parameters: key, value.
MERGE (m:KgcheckStore {key: $key}) SET m.value = $value
