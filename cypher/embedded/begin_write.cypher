// Begin a transaction that writes.
BEGIN TRANSACTION
