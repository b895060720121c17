"""Export and import: what other tools and clones wrote."""
