"""Any source as a relation that DuckDB can read."""
