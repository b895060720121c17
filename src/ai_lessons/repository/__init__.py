"""WHERE things live: the working tree, git's objects, the journal. The only importer of dulwich."""
