"""Which rules are in force, and by whose hand: derived from the history of the approval branch."""
