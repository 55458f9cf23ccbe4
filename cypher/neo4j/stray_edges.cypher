// Edges of one relation type whose ends carry labels that no pattern of the schema joins.
// Parameters: allowed (list of [head label, tail label]), limit. Places: relation, also.
// Returns: head_labels, head, tail_labels, tail.
MATCH (a)-[r:<relation>]->(b)
WHERE none(pair IN $allowed WHERE pair[0] IN labels(a) AND pair[1] IN labels(b))<also>
RETURN labels(a) AS head_labels, a.id AS head, labels(b) AS tail_labels, b.id AS tail
ORDER BY head, tail LIMIT $limit
