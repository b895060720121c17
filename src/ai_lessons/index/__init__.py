"""HOW things are found: projections that can be thrown away. The only importer of lancedb and fastembed."""
