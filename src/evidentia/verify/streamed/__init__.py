"""Verification of results whose rows stayed in Parquet files: read once, kept as narrow columns, and compared."""
