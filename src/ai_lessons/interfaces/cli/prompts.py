"""Questions to the person at the terminal, each with what it is about."""

from __future__ import annotations

import os

import click

from ai_lessons.interfaces.output import clean, line


def ask_trust(path: str, text: str) -> bool:
    """Show a script that this machine has not run before and ask whether to trust exactly this text."""
    return confirm("\nRun it, and trust this text from now on?", *shown_to_trust(path, text))


def shown_to_trust(path: str, text: str) -> list[str]:
    """A script that this machine does not know, whole: what a person trusts is what was shown."""
    rows = []
    for row in clean(text).splitlines():
        rows.append(f"    {row}")
    return [f"{line(path)} has not been run on this machine, or has changed since:\n", *rows]


def ask_keys(question: str, keys: list[str]) -> bool:
    """Show keys by their fingerprints and ask whether they may approve rules."""
    advice = "Ask their owners, not the repository, for the fingerprints: ssh-keygen -lf KEY.pub"
    return confirm(line(question), "", *(f"    {line(key)}" for key in keys), advice)


def ask_source(doc: str, path: str, file: str) -> bool:
    """Ask whether a doc may be read from a file that it was not added from on this machine."""
    if file != os.path.expanduser(path):
        target = f", a link to {line(file)},"
    else:
        target = ""
    return confirm(
        "Read it, also from now on?",
        (
            f"{line(doc)} would be read from {line(path)}{target} and was not added from "
            "there on this machine."
        ),
        "The content of that file is then committed, and shared by the next sync.",
    )


def ask_about_alarms(alarms: str) -> bool:
    """Show the alarms and ask whether the approval branch is right as it is."""
    return confirm("\nTake the approval branch as it is now?", clean(alarms))


def confirm(question: str, *lines: str) -> bool:
    """Ask a yes-or-no question on stderr, below these lines."""
    click.echo("\n".join(lines), err=True, nl=bool(lines))
    return click.confirm(question, default=False, err=True)
