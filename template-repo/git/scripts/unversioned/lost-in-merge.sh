#!/bin/sh
# Name the files that a merge dropped although neither side had deleted them.
#
# Usage: lost-in-merge.sh [REVISION-RANGE]     default: HEAD, the whole history of the branch you stand on
# Prints one line "<merge> <path>" for each lost file. Exit code: 0 none, 1 some, 2 not a git repository.
set -eu

git rev-parse --git-dir >/dev/null 2>&1 || { echo "lost-in-merge: not a git repository" >&2; exit 2; }

exists() { git cat-file -e "$1:$2" 2>/dev/null; }

# Paths that a parent has and the merge has not; what was renamed does not count as gone.
gone() { git -c core.quotePath=false diff-tree -r -M --name-only --diff-filter=D "$1" "$2"; }

# A path is lost if every parent has it, or if a parent added it: it is new since the common ancestor.
judge() { # MERGE BASE PARENT...
    merge=$1 base=$2
    shift 2
    for parent in "$@"; do gone "$parent" "$merge"; done | sort -u | while IFS= read -r path; do
        if [ -n "$base" ] && exists "$base" "$path"; then
            kept=yes
            for parent in "$@"; do exists "$parent" "$path" || kept=no; done
            [ "$kept" = yes ] || continue
        fi
        printf '%s %s\n' "$(git rev-parse --short "$merge")" "$path"
    done
}

lost=$(git rev-list --merges --parents "${1:-HEAD}" | while read -r merge parents; do
    # shellcheck disable=SC2086  # several parents, several arguments
    base=$(git merge-base --octopus $parents || true)
    # shellcheck disable=SC2086
    judge "$merge" "$base" $parents
done)

[ -n "$lost" ] || exit 0
printf '%s\n' "$lost"
exit 1
