"""Storage: one file per comparison, one harness."""
