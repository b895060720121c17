"""The repository on disk: files, git objects, commits, sync. The only importer of dulwich.

Decides nothing about approval and knows nothing of search. Begin with `store` (a job that changes files), then
`commit` (how jobs become commits) and `sync`. Imports `model`.
"""
