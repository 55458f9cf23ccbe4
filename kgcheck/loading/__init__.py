"""From an import directory to a graph store: lines, records, staging, comparing, quarantine."""
