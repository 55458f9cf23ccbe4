// A key is unique within its label; the index behind it serves keyed queries.
// Places: label, name, key.
CREATE CONSTRAINT <name> IF NOT EXISTS FOR (n:<label>) REQUIRE n.<key> IS UNIQUE
