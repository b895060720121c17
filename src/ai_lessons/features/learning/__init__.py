"""Learning: what becomes of entries that were told decides which are told, and how sure they are.

Begin with `usages`: the events of a repository, added up (`cache`), give each lesson its
`confidence`, and each of a few `parameters` where it stands. `filter` tells by them.
"""
