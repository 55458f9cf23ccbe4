// The keys under which kgcheck wrote something down that begin so.
// Parameters: prefix. Returns: key.
MATCH (m:KgcheckStore) WHERE m.key STARTS WITH $prefix RETURN m.key AS key ORDER BY key
