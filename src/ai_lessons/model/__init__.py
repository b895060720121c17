"""What things are: entries, their files, links, versions, settings. Pure functions and values.

No file system, git, network, clock or environment. Begin with `entries` (kinds, entries, ids), then `frontmatter` (a
file's bytes to an entry) and `layout` (where an entry lies). Imports nothing of ours but `errors`.
"""
