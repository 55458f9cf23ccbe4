"""The command line: the only place where stores, snapshots and the ledger are put together."""
