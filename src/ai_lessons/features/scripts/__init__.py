"""Scripts: added, trusted and run on this machine, and scripts that stay where they are.

Begin with `jobs`: a script runs where its text, and what it uses beside it, was allowed here.
`planning` takes new ones in, and `in_place` reads the code of those that lie outside.
"""
