// Whether a property could be the key of a label: how many nodes there are, how many have it, how many values there are.
// Parameters: none. Places: label, property, where. Returns: n, filled, different.
MATCH (n:<label>)<where> RETURN count(n) AS n, count(n.<property>) AS filled, count(DISTINCT n.<property>) AS different
