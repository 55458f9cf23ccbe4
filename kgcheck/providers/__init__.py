"""Services and their files: HTTP, UniProt, STRING, and the formats that providers publish."""
