// Every node of a table with all that it carries.
// Places: label. Returns: node.
MATCH (n:<label>) RETURN n AS node
