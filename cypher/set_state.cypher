// Say that labels and patterns are in a state of their own from now on.
// Parameters: keys (list of text), value.
UNWIND $keys AS key MERGE (m:KgcheckStore {key: key}) SET m.value = $value
