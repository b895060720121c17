"""Which rules are in force and who approved them, derived from the history of the approval branch.

Shows nothing and asks nobody. Begin with `verdicts` (the decision, pure; `walk` is its pass over the
commits), then `state` (the branch as judged), `proposals`, `outcomes` and `decisions` (what waits,
what became of it, and what is decided). Imports `git` and `model`.
"""
