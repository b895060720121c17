"""A check for each decision of the set of `bench.kept` that one of the three forms can express, as frontmatter has it.

Of 127 decisions the others say how something behaves, or ask for judgement: no line, command or file tells of them.
"""

from __future__ import annotations

from typing import Any

Fields = dict[str, Any]

GO, SCRIPTS, CLI = "**/*.go", "**/*.sh", "cmd/entire/cli"
CODE = "**/{*[!t],*[!s]t,*[!e]st,*[!t]est}.go"  # Go files that are no tests: no name of theirs ends in `test`
TESTS = "**/*_test.go"
CHANGED = "cmd/**/*.go"
E2E = f"{CLI}/e2e_test/*.go"
READS = r" (--list|-l|--get\S*|get|list)\b"  # of `git config`


def text(regex: str, bad: str, good: str, files: str | list[str] = GO, unless: str = "") -> Fields:
    """A check of a text that is written."""
    fields: Fields = {"files": files, "regex": regex, "bad": bad, "good": good}
    return fields | ({"unless": unless} if unless else {})


def code(
    pattern: str, bad: str, good: str, files: str | list[str] = GO, unless: str = ""
) -> Fields:
    """A check of the syntax of code that is written."""
    fields: Fields = {"files": files, "pattern": pattern, "bad": bad, "good": good}
    return fields | ({"unless": unless} if unless else {})


def command(names: str | list[str], bad: str, good: str, **more: str) -> Fields:
    """A check of a command before it runs."""
    return {"command": names, "bad": bad, "good": good, **more}


def done(changed: str | list[str], unless_changed: str | list[str], bad: str, good: str) -> Fields:
    """A check of which files changed together."""
    both = [bad, good]
    return {
        "changed": changed,
        "unless_changed": unless_changed,
        "bad": bad,
        "good": both,
        "enforce": "ask",
    }


def ran(changed: str, *commands: str) -> Fields:
    """A check of what ran after the last change."""
    return {"changed": changed, "ran": [*commands], "bad": f"{CLI}/root.go", "enforce": "ask"}


LINT = ran(CHANGED, "mise run lint", "golangci-lint run")

CHECKS: dict[str, list[Fields]] = {
    "d001": [
        code(
            f"if err != nil {{ $$$BODY\nreturn {values} }}",
            f"func f() {{\n\tif err != nil {{\n\t\treturn {values}\n\t}}\n}}",
            f"func f() {{\n\tif err != nil {{\n\t\treturn {values} //nolint:nilerr // best effort\n\t}}\n}}",
            CODE,
            r"//nolint\S*nilerr|return .*, *(\w*[eE]rr\b|fmt\.Errorf|errors\.)",
        )
        for values in ("nil", "nil, nil", '"", nil', "false, nil")
    ],
    "d003": [text(r">+ *\S*\.entire/\.gitignore", "echo tmp > .entire/.gitignore", "entire enable", SCRIPTS)],
    "d005": [text(r"([cC]ommit\w*|[hH]ead\w*)\[:7\]", "name := commit[:7]", "commit[:shadowBranchHashLength]", CODE)],
    "d006": [ran(CHANGED, "mise run test:ci")],
    "d007": [
        text(
            r'Fprint(f|ln)?\(.*"[^"]*\b([Ii]nstalled|[Cc]reated|[Vv]erified)\b',
            'fmt.Fprintln(w, "Hooks installed")',
            'fmt.Fprintln(w, "✓ Hooks installed")',
            [f"{CLI}/setup.go", f"{CLI}/strategy/common.go"],
            "✓",
        )
    ],
    "d009": [done(CHANGED, TESTS, f"{CLI}/root.go", f"{CLI}/root_test.go")],
    "d010": [
        text(r'return ""$', '\treturn ""', '\tt.Fatalf("none: %s", out)', ["**/testenv.go", "**/testutil/*.go"]),
    ],
    "d011": [text(r"^\.entire/?$", ".entire/", ".entire/tmp/", [".gitignore", SCRIPTS])],
    "d012": [
        text(
            r""">\s*\S*settings\.json|"settings\.json"|\.git/hooks/""",
            'os.WriteFile(filepath.Join(dir, "settings.json"))',
            'exec.CommandContext(ctx, "entire", "enable")',
            [f"{CLI}/e2e_test/testenv.go", "**/*harness*.sh"],
        )
    ],
    "d013": [text(r"^\s*retry:", "    retry: 3", "    timeout: 20m", [".goreleaser.y{a,}ml"])],
    "d014": [text(r'json:"commit_(hash|sha|id)', '`json:"commit_hash"`', '`json:"checkpoint_id"`', CODE)],
    "d018": [text(r"Entire-Session\b", "Entire-Session: 1", "Entire-Checkpoint: 1", [CODE, SCRIPTS], "//.*Session")],
    "d021": [
        command(["git commit", "git add -A", "git add ."], "git commit -m x", "git init && git commit -m x",
                unless=r"\bgit init\b", unless_said=r"\bcommit")
    ],
    "d022": [text(r"os\.Getwd\(\)", "dir, err := os.Getwd()", "root, err := paths.RepoRoot()", CODE, "//nolint")],
    "d023": [
        text(
            r'"[^"]*Claude Code[^"]*"',
            'name := "Claude Code"',
            "name := state.AgentType",
            [f"{CLI}/{{*[!t],*[!s]t,*[!e]st,*[!t]est}}.go", f"{CLI}/{{strategy,checkpoint,session}}/{CODE[3:]}"],
            "//.*Claude Code",
        )
    ],
    "d025": [text(r'\[:[^\]]+\]\s*\+\s*"\.\.\."', 's[:n-3] + "..."', "stringutil.TruncateRunes(s, n)", CODE)],
    "d027": [LINT],
    "d028": [text(r'\b([dD]efault)?[aA]gentType\s*:?=\s*"Claude', 'AgentType = "Claude"', 'AgentType = "Agent"', CODE)],
    "d029": [LINT, ran(CHANGED, "mise run fmt", "gofmt -w", "golangci-lint fmt")],
    "d030": [text(r"AllowsMainBranch\(\)", "if !s.AllowsMainBranch() {", "if s.IsOn() {", f"{CLI}/{CODE[3:]}")],
    "d032": [
        text(
            r"(,\s*_|^\s*_)\s*:?=\s*[\w.]+\(",
            "\tref, _ := repo.Head()",
            "\tref, _ := repo.Head() //nolint:errcheck // may be none",
            unless="//nolint",
        )
    ],
    "d033": [text(r'== "(on|off|true|false)"', 'if value == "on" {', "if value {", CODE)],
    "d040": [
        done(
            f"{CLI}/session/state.go", f"{CLI}/strategy/manual_commit*.go",
            f"{CLI}/session/state.go", f"{CLI}/strategy/manual_commit.go",
        )
    ],
    "d043": [
        text(
            r"AgentType(Gemini|Claude)|AgentName(Gemini|Claude)",
            "if t == agent.AgentTypeGemini {",
            "lines := agent.Parse(data)",
            f"{CLI}/{{strategy,checkpoint,session}}/{CODE[3:]}",
        )
    ],
    "d044": [done(f"{CLI}/strategy/{CODE[3:]}", ["docs/architecture/**", "CLAUDE.md"],
                  f"{CLI}/strategy/common.go", "CLAUDE.md")],
    "d047": [
        text(
            r"logging\.WithComponent\(",
            'logCtx := logging.WithComponent(ctx, "x")',
            'logCtx := logging.WithAgent(logging.WithComponent(ctx, "x"), name)',
            CODE,
            "WithAgent",
        )
    ],
    "d051": [
        done(
            [f"{CLI}/hooks_claudecode_handlers.go", f"{CLI}/agent/claudecode/{CODE[3:]}"],
            [f"{CLI}/hooks_gemini*.go", f"{CLI}/agent/geminicli/**"],
            f"{CLI}/agent/claudecode/hooks.go", f"{CLI}/agent/geminicli/hooks.go",
        )
    ],
    "d052": [
        text(
            r"agent\.(Detect|Default)\(|\bGetAgent\(\)",
            "ag, err := agent.Detect()",
            "ag, err := GetCurrentHookAgent()",
            f"{CLI}/hook{{s_*,_registry}}.go",
            "//.*(Detect|Default|GetAgent)",
        )
    ],
    "d054": [
        text(
            r"\bGetAgent\(\)", "ag, err := GetAgent()", "ag, err := agent.ByType(t)",
            [f"{CLI}/{{rewind,resume}}.go", f"{CLI}/strategy/manual_commit_rewind.go"],
        )
    ],
    "d055": [
        text(
            r"\b([cC]heckpointIDs?|cpID)\s+(\[\])?string\b",
            "func read(checkpointID string) error {",
            "func read(checkpointID id.CheckpointID) error {",
            unless=r"^\s*var\b",
        )
    ],
    "d056": [text(r"\[0-9a-f\]\{12\}", 'x := "[0-9a-f]{12}"', "x := id.Pattern", CODE, "Pattern")],
    "d057": [text(r"\bcpIDs?\b", "cpID := read()", "checkpointID := read()")],
    "d059": [text(r"id\.(Must)?CheckpointID\(", "id.MustCheckpointID(s)", "id.NewCheckpointID(s)", CODE)],
    "d062": [command("cd …", "cd cmd/app && go test", "cd /app && go test", unless=r"""\bcd ['"]?[^\s'"c]""")],
    "d063": [text(r"^func \w*Session", "func SessionID() string {", "func Root() string {", f"{CLI}/paths/{CODE[3:]}")],
    "d068": [text(r"//\s?nolint(:[\w,]+)?\s*$", "x() //nolint:errcheck", "x() //nolint:errcheck // why")],
    "d069": [
        text(
            r"//.*(Deprecated:|\bAPI compat)", "// Deprecated: use New", "// New makes one", CODE,
        )
    ],
    "d073": [text(r"exec\.Command\(", 'exec.Command("git")', 'exec.CommandContext(ctx, "git")', unless="//nolint")],
    "d074": [text(r'"rev-parse".*--git-(common-)?dir"', 'run("rev-parse", "--git-dir")', "GetGitDir()", CODE)],
    "d076": [
        # a file beside the folder shows by its heading, a status by its line
        text(r"^# ", "# Scenarios", "Scenarios are in architecture/", ["docs/*.md"]),
        text(r"(?i)^\W*(status|date|last updated)\W*:", "**Status:** draft", "A draft", "docs/architecture/*.md"),
    ],
    "d077": [
        text(
            r"(At|Time|Timestamp):\s*time\.Now\(\),|time\.Now\(\)\.Format", "At: time.Now(),",
            "At: time.Now().UTC(),", CODE, r"\.UTC\(\)",
        )
    ],
    "d078": [text(r"\bclaude\b.* (-p|--print)\b", 'claude -p "hi"', 'claude --model haiku -p "hi"', SCRIPTS, "haiku")],
    "d079": [
        code(
            "func $NAME(t *testing.T) { $$$BODY }",
            "package e2e\n\nfunc TestE2E_A(t *testing.T) {\n\tRun()\n}",
            "package e2e\n\nfunc TestE2E_A(t *testing.T) {\n\tValidateCheckpoint()\n}",
            f"{CLI}/e2e_test/*_test.go",
            r"ValidateCheckpoint|metadata\.json|ReadFileFromBranch",
        )
    ],
    "d080": [text(r"\bgo run\b.*cmd/entire", "go run ./cmd/entire", "go build -o $bin ./cmd/entire", "scripts/*.sh")],
    "d082": [text(r"\bentire session (list|show|current|raw|cleanup|trailer|debug)\b", "entire session list",
             "entire rewind --list", [SCRIPTS, "**/*.md"])],
    "d084": [
        text(
            r"^func handle[A-Z]\w*\(", "func handleStop(", "func handleGeminiStop(", f"{CLI}/hooks_*_handlers.go",
            r"handle(ClaudeCode|Gemini)|Common\(",
        )
    ],
    "d088": [text(r"\b(repo|remote|r)\.(Fetch|Push)(Context)?\(|PlainClone\(", "repo.Fetch(o)", "fetch(ctx)", CODE)],
    "d089": [
        command(
            [f"{reader}{CLI}/commands{end}" for reader in ("ls ", "find ", "grep … ", "rg … ") for end in ("", "/")],
            f"ls -la {CLI}/commands/", f"ls {CLI}/",
        )
    ],
    "d090": [
        text(
            r'Command(Context)?\((context\.\w+\(\), *)?"git", "(fetch|push|clone|pull|ls-remote)"',
            'exec.Command("git", "fetch")', 'exec.CommandContext(ctx, "git", "fetch")', CODE,
        )
    ],
    "d091": [text(r"\b(w|wt|worktree|workTree)\.Status\(\)", "worktree.Status()", "gitStatus(ctx)", CODE)],
    "d092": [
        text(r'"config", "--global"', 'run("config", "--global", "x")', 'run("config", "x")', [TESTS, E2E]),
        command("git config --global", "git config --global user.name x", "git config --global --list", unless=READS),
    ],
    "d096": [command(["git add -f", "git add --force"], "git add -f docs/requirements/a.md", "git add docs/a.md")],
    "d103": [command("gh pr view --comments", "gh pr view 7 --comments", "gh api repos/a/b/pulls/7/comments")],
    "d104": [text(r"^\s*(source|\.)\s+\S*\.env\b", "source .env", "grep '^KEY=' .env", SCRIPTS)],
    "d105": [
        text(
            r"\bentire/sessions\b", '"entire/sessions"', "paths.MetadataBranchName", [GO, "**/*.md", SCRIPTS],
        )
    ],
    "d107": [
        text(
            r"\"\.(claude|gemini)\"", "path == \".claude\"", "agent.AllProtectedDirs()", f"{CLI}/strategy/{CODE[3:]}",
        )
    ],
    "d108": [text(r'[sS]etenv\("PATH"', 't.Setenv("PATH", dir)', "ag.LookPath = found", TESTS)],
    "d109": [
        text(
            r'(fmt\.Errorf|errors\.New)\("([A-Z][a-z]|\w+\(\))', 'fmt.Errorf("Cannot read: %w", err)',
            'fmt.Errorf("reading: %w", err)', CODE,
        )
    ],
    "d111": [text(r"entire@local", '"entire@local"', "GetGitAuthorFromRepo(repo)", CODE)],
    "d115": [
        text(r"^- ", "- New command", "- New command ([#1](https://example.com/pull/1))", "CHANGELOG.md", r"\(\[#\d+\]")
    ],
    "d120": [text(r"//nolint:exhaustive", "switch x { //nolint:exhaustive // few", "switch x {", GO)],
    "d123": [done("scripts/*e2e*.sh", f"{CLI}/e2e_test/**", "scripts/test-e2e.sh", f"{CLI}/e2e_test/testenv.go")],
    "d124": [
        command(
            "go build -tags", "go build -tags=e2e ./...", "go vet -tags=e2e ./...", unless=r"-tags[= ]\W?integration",
            instead="go vet -tags=e2e ./cmd/entire/cli/e2e_test/...",
        )
    ],
    "d125": [
        code(
            "func $NAME(t *testing.T) { $$$BODY }",
            "package e2e\n\nfunc TestE2E_A(t *testing.T) {\n\tRun()\n}",
            "package e2e\n\nfunc TestE2E_A(t *testing.T) {\n\tt.Parallel()\n}",
            f"{CLI}/e2e_test/*_test.go",
            r"t\.Parallel\(\)",
        ),
        text(r"test:e2e", "run: mise run test:e2e", "run: mise run test:ci", ".github/workflows/*.yml"),
    ],
    "d126": [
        command(
            ["mise run test:e2e", "go test -tags=e2e"], "mise run test:e2e", "go test -tags=e2e -c ./...",
            unless=r" -c\b| -list\b| -run='?\^?\$", unless_said=r"\be2e\b",
        )
    ],
}  # fmt: skip
