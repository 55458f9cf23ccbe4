// A typed node table.
// Places: label, columns.
CREATE NODE TABLE IF NOT EXISTS <label>(id STRING<columns>, PRIMARY KEY(id))
