"""Which rules are in force, and who approved them: derived from the history of the approval branch."""
