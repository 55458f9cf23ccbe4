// Bulk-load new edges from an Arrow table whose first two columns are the keys of head and tail.
// Parameters: rows (Arrow table). Places: relation, names, head_name, tail_name.
COPY <relation><names> FROM $rows (from='<head_name>', to='<tail_name>')
