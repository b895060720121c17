#!/bin/sh
# Prove that moving a branch without git's index makes the next ordinary commit delete files.
#
# Usage: ref-without-index.sh     works in a temporary repository of its own and removes it again
# Exit code: 0 if the file was lost as the lesson says, 1 if this git behaves differently.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.com GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.com
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

git init -q .
git symbolic-ref HEAD refs/heads/main
echo one >one
git add one
git commit -qm "one"

# A tool adds the file "two" with objects only, and moves the branch.
blob=$(echo two | git hash-object -w --stdin)
tree=$({ git ls-tree HEAD; printf '100644 blob %s\ttwo\n' "$blob"; } | git mktree)
git update-ref refs/heads/main "$(git commit-tree "$tree" -p HEAD -m "add two")"

# A person edits another file and commits.
echo changed >one
git add one
git commit -qm "edit one"

echo "the commit that only meant to edit 'one':"
git show --stat --format='  %s' HEAD
if git cat-file -e HEAD:two 2>/dev/null; then
    echo "two is still there"
    exit 1
fi
echo "two is gone"
