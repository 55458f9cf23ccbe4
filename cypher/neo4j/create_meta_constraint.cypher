// One value a key in what kgcheck writes down about the store.
CREATE CONSTRAINT kgcheck_store_key IF NOT EXISTS FOR (m:KgcheckStore) REQUIRE m.key IS UNIQUE
