#!/bin/sh
# The tour behind `make demo`. Prints every command before it runs it. Works in a temporary folder and removes it;
# only the embedding model stays, in the user's cache. Keep the repository: DEMO_DIR=/some/new/folder make demo
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
place=${DEMO_DIR:-$(mktemp -d)}
[ -n "${DEMO_DIR:-}" ] || trap 'rm -rf "$place"' EXIT
mkdir -p "$place"
AI_LESSONS_REPO=$place/reference
export AI_LESSONS_REPO
# a machine without a git identity shall see the tour too
if ! git -C "$place" var GIT_COMMITTER_IDENT >/dev/null 2>&1; then
    export GIT_AUTHOR_NAME=Demo GIT_AUTHOR_EMAIL=demo@example.com GIT_COMMITTER_NAME=Demo GIT_COMMITTER_EMAIL=demo@example.com
fi

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n%s\n' "$*"; }
show() {
    printf '\n$'
    for word in "$@"; do
        case $word in
            *[!A-Za-z0-9_./:=,@%+-]* | "") printf " '%s'" "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$@"
}

say "1. A knowledge repository is a git repository with Markdown files. --starters brings something to search."
show ai-lessons admin init --starters "$AI_LESSONS_REPO"
show git -C "$AI_LESSONS_REPO" log --oneline

say "2. Real Markdown goes in as it is: this project's own documentation, in one commit."
show ai-lessons contribute add-resource --type doc --project ai-lessons --recursive --path "$here/docs"
show ai-lessons contribute add-lesson --project ai-lessons --tags demo --source tested --confidence high \
    --title "A demo that prints its commands is a test that people like to read" \
    --content "Every line of make demo can be pasted into a shell."

# a search does this by itself, a little each time; here the answers shall be the best ones from the start
show ai-lessons admin reindex

say "3. Search by meaning. The questions are put in other words than their answers."
show ai-lessons recall search "my file vanished although I only changed another one" --limit 3
show ai-lessons recall search "my program is stuck while it waits for a subprocess" --limit 3
show ai-lessons recall search "is a program faster now, on a busy computer" --type script --limit 2

say "4. Never stale: edit a file with any tool, and the very next search knows."
lesson=$(cd "$AI_LESSONS_REPO" && ls ai-lessons/lessons/*/*.md)
show sed -i.bak -e 's/pasted into a shell/copied to a terminal, says the purple walrus/' "$AI_LESSONS_REPO/$lesson"
rm -f "$AI_LESSONS_REPO/$lesson.bak"
show ai-lessons recall search "purple walrus" --limit 1

say "5. Everything is plain git: the history is the log, the rest is yours."
show git -C "$AI_LESSONS_REPO" log --format='%h %s'
show git -C "$AI_LESSONS_REPO" status --short
show ai-lessons admin validate
show ai-lessons admin stats

[ -z "${DEMO_DIR:-}" ] || say "The repository is in $AI_LESSONS_REPO"
