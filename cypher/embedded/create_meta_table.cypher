// Where kgcheck writes down the profile, its version and what was loaded.
CREATE NODE TABLE IF NOT EXISTS KgcheckStore(key STRING, value STRING, PRIMARY KEY(key))
