"""Do decisions arrive where they are needed? `python -m bench.decisions --data FOLDER --code GITDIR`.

FOLDER has `decisions.jsonl` (id, at, kind, title, content, about) and `moments.jsonl` (at, session, event, text, path,
old, new, and in `needs` the decisions that it needed, each with `how`: violated or applied). Each decision is stored
as it was stated, a rule is approved; each moment is played against the hooks, with the code as it was on that day.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from bench.harness import Bar, Outcome, World, arguments, number, program, table, world

Row = dict[str, Any]


class Play:
    """One person's project and knowledge, as weeks go by."""

    def __init__(self, home: World, code: Path, project: str) -> None:
        self._env = {name: value for name, value in home.env.items() if name != "AI_LESSONS_WARM"}
        self.work, self._day = home.folder / project, ""
        home.git(home.folder, "clone", "-q", "--shared", "--no-checkout", str(code), str(self.work))
        self.handles = dict[str, str]()
        self.told = defaultdict[str, dict[str, str]](dict)
        self.characters = Counter[str]()
        self._ours("admin", "init")

    def _run(self, *words: str, text: str = "") -> str:
        done = subprocess.run(
            words,
            cwd=self.work,
            env=self._env,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def _ours(self, *words: str, text: str = "") -> str:
        return self._run(*program(), *words, text=text)

    def day(self, at: str) -> None:
        """The code as it was at the end of this day."""
        if at[:10] != self._day:
            self._day = at[:10]
            commit = self._run(
                "git", "rev-list", "-1", f"--before={self._day}T23:59:59", "--all"
            ).strip()
            self._run("git", "checkout", "-q", "-f", "--detach", commit)

    def keep(self, decision: Row) -> None:
        """Store it, with what it names where that can be stored, and approve it if it is a rule."""
        rule = decision["kind"] == "rule"
        verb = (
            ("suggest-rule", "--rationale", decision.get("quote") or "said")
            if rule
            else ("add-lesson",)
        )
        words = [
            "--title",
            decision["title"],
            "--content",
            decision["content"],
            "--project",
            self.work.name,
        ]
        words += ["--tags", ",".join(decision["tags"]), "--json"]
        about = [word for name in decision["about"] for word in ("--about", name)]
        # a file that is not there yet that day cannot be an anchor, and can be named for when it comes
        files = [
            word for name in decision["about"] for word in ("--applies-to", name.partition("::")[0])
        ]
        for places in (about, files if rule else [], ["--no-about"]):
            if places and (out := self._ours("contribute", *verb, *words, *places)):
                stored = json.loads(out)
                handle = stored.get("handle") or stored["entry"]["handle"]
                self.handles[handle] = decision["id"]
                if rule:
                    self._ours("admin", "approve-rule", handle, "--yes")
                return

    def hear(self, session: str, name: str, where: str, **facts: Any) -> None:
        """What a hook tells at this event."""
        event = {"hook_event_name": name, "session_id": session, "cwd": str(self.work), **facts}
        event["transcript_path"] = str(Path(self._env["HOME"]) / ".claude/projects/x/s.jsonl")
        out = self._ours("admin", "agent-hook", text=json.dumps(event))
        told = (
            json.loads(out)["hookSpecificOutput"].get("additionalContext", "")
            if out.strip()
            else ""
        )
        self.characters[session] += len(told)
        for handle, decision in self.handles.items():
            if handle in told:
                self.told[session].setdefault(decision, where)

    def moment(self, moment: Row) -> None:
        """A prompt, a command or an edit."""
        session, text = moment["session"], moment.get("text") or ""
        if moment["event"] == "prompt":
            self.hear(session, "UserPromptSubmit", "prompt", prompt=text)
            return
        edit = {
            "file_path": str(self.work / (moment.get("path") or "")),
            "old_string": moment.get("old") or "",
        }
        edits = moment["event"] == "edit"
        facts = {**edit, "new_string": moment.get("new") or ""} if edits else {"command": text}
        self.hear(
            session,
            "PreToolUse",
            moment["event"],
            tool_name="Edit" if edits else "Bash",
            tool_input=facts,
        )


def rows(file: Path) -> list[Row]:
    """The rows of a file, the earliest first."""
    return sorted(
        map(json.loads, file.read_text(encoding="utf-8").splitlines()),
        key=lambda row: str(row["at"]),
    )


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--code", type=Path, required=True, help="git directory of the project that they are about"
    )
    parser.add_argument("--project", default="cli", help="its name")
    given, outcome = parser.parse_args(), Outcome()
    if not given.data:
        sys.exit("--data FOLDER: decisions.jsonl and moments.jsonl")
    decisions, moments = rows(given.data / "decisions.jsonl"), rows(given.data / "moments.jsonl")
    needs = defaultdict[tuple[str, str], list[tuple[bool, bool]]](list)
    quiet = list[bool]()
    with world(given.work) as home:
        play, waiting, begun = Play(home, given.code, given.project), iter([*decisions]), set[str]()
        following = next(waiting, None)
        for moment in moments:
            session = moment["session"]
            play.day(moment["at"])
            while following and following["at"] < moment["at"]:
                play.keep(following)
                following = next(waiting, None)
            if session not in begun:
                begun.add(session)
                play.hear(session, "SessionStart", "start", source="startup")
            before = len(play.told[session])
            play.moment(moment)
            quiet += [] if moment["needs"] else [len(play.told[session]) == before]
            for name in {*moment["needs"]} & {*play.handles.values()}:
                needs[session, name].append(
                    (name in play.told[session], moment.get("how") == "violated")
                )
    late = [
        (s, name)
        for s, told in play.told.items()
        for name, where in told.items()
        if where != "start"
    ]
    violated = [pair for pair in needs.values() if any(broken for _, broken in pair)]

    def share(values: list[bool]) -> float:
        return sum(values) / max(len(values), 1)

    arrived, again = (
        share([any(told for told, _ in pair) for pair in of]) for of in (needs.values(), violated)
    )
    right, silent = share([pair in needs for pair in late]), share(quiet)
    each = play.characters.total() / max(len(begun), 1)
    head = f"{len(decisions)} decisions, {len(moments)} moments of {len(begun)} sessions, {len(needs)} needed pairs"
    figures = [
        ["needed decisions that were told in time", number(arrived)],
        ["of those that the person had to say again", number(again)],
        [f"of {len(late)} tellings after the start those that the session needed", number(right)],
        ["moments that needed nothing, with nothing told", number(silent)],
        ["characters a session", number(each)],
    ]
    print(table(head, ["", given.data.name], figures))
    for what, measured, least in (("arrived", arrived, 0.85), ("violated", again, 0.85)):
        outcome.judge(Bar(what, measured, least, "of what was needed", at_least=True))
    outcome.judge(Bar("right", right, 0.25, "of tellings", at_least=True))
    outcome.judge(Bar("quiet", silent, 0.95, "of moments", at_least=True))
    outcome.judge(Bar("told", each, 6500.0, "characters a session"))
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
