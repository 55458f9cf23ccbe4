// What kgcheck wrote down about the store itself; what it wrote down of patches stays with them.
// Parameters: none. Returns: key, value.
MATCH (m:KgcheckStore) WHERE NOT m.key STARTS WITH 'patch ' RETURN m.key AS key, m.value AS value
