"""The local page: entries and reviews on this machine, and the same pages as a site of files."""
