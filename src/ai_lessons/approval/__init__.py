"""Which rules are in force and who approved them, derived from the history of the approval branch.

Shows nothing and asks nobody. Begin with `verdicts` (the decision, pure), then `state` (the branch
as judged), `proposals` and `decisions` (what waits, and what is decided). Imports `git` and
`model`.
"""
