// Bulk-load new nodes from an Arrow table.
// Parameters: rows (Arrow table, columns in this order). Places: label, names.
COPY <label>(id<names>) FROM $rows
