"""The graph under test: its schema, the queries, the stores that hold it and the loader that fills them."""
