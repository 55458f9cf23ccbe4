// What kgcheck wrote down about the graph; its patches, the store's name and its state are apart.
// Parameters: none. Returns: key, value.
MATCH (m:KgcheckStore)
WHERE NOT m.key STARTS WITH 'patch ' AND NOT m.key STARTS WITH 'state ' AND m.key <> 'store_id'
RETURN m.key AS key, m.value AS value
