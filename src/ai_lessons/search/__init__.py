"""The catalog and the index: projections of the files that can be deleted and built again.

The only importer of lancedb and fastembed; the truth is in the files. Begin with `catalog` (what lists and shows
read), then `index` (passages) and `ranking`. Imports `model`.
"""
