"""The language server.

What rules in force and lessons say of the file that is open in an editor.
"""
