"""What rules do over many repositories: reports of CI and the events of sessions, added up.

Begin with `jobs`. `reading` reads what `ai-lessons check` wrote as JSON or SARIF; `sums` adds up;
`page` draws the page.
"""
