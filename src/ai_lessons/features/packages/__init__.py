"""Docs of the packages that code uses, at the version that is installed. Begin with `jobs`."""
