# Makes real repositories below $OUT: sourced before each history of flows.sh and attacks.sh.
set -u
export HOME=$OUT/home GIT_CONFIG_NOSYSTEM=1 GIT_MERGE_AUTOEDIT=no FILTER_BRANCH_SQUELCH_WARNING=1
W0=$OUT/w
mkdir -p "$HOME/.ssh" "$HOME/template/info" "$W0"
cp "$KEYS"/* "$HOME/.ssh/"
cat > "$HOME/.gitconfig" <<'S'
[init]
defaultBranch = main
templateDir = ~/template
[core]
fsync = none
[pull]
rebase = false
[protocol "file"]
allow = always
[advice]
detachedHead = false
[gpg]
format = ssh
[user]
name = Dev
email = dev@x
[gc]
auto = 0
[maintenance]
auto = false
S
for k in ada bob; do echo "$k@x $(cat "$HOME/.ssh/$k.pub")"; done > "$W0/signers"
A=01M82H56GFBPYC5697MCAAAAAA
B=01M82H56GFBPYC5697MCBBBBBB
D=01M82H56GFBPYC5697MCDDDDDD
a=shop/rules/a.md
b=shop/rules/b.md
Rb=rules/R-AAAAAA-x
Rx=rules/R-BBBBBB-x

# a minute passes with every commit
T=1790000000
tick() { T=$((T + 60)); }
# as WHO GIT-ARGUMENTS: git as this person; hub_as: the forge commits for the person; sg: the person's git signs
as() { local n=$1; shift; tick; GIT_AUTHOR_DATE="$T +0000" GIT_COMMITTER_DATE="$T +0000" git -c user.name="$n" -c user.email="$n@x" "$@"; }
hub_as() {
    local n=$1
    shift
    tick
    GIT_AUTHOR_NAME=$n GIT_AUTHOR_EMAIL=$n@x GIT_COMMITTER_NAME=GitHub GIT_COMMITTER_EMAIL=noreply@github.com \
        GIT_AUTHOR_DATE="$T +0000" GIT_COMMITTER_DATE="$T +0000" git "$@"
}
sg() { local n=$1; shift; as "$n" -c user.signingkey="$HOME/.ssh/$n.pub" -c commit.gpgsign=true "$@"; }
# r FILE ID LINE...: write a rule; c WHO ARGUMENTS: commit all; note [NAME] [WHO]: other work
r() {
    local f=$1 i=$2
    shift 2
    mkdir -p "$(dirname "$f")"
    { printf -- '---\nid: %s\nkind: rule\ntitle: R\nrationale: why\n---\n' "$i"; printf '%s\n' "$@"; } > "$f"
}
c() { local n=$1; shift; git add -A; as "$n" commit -q "$@"; }
note() { mkdir -p shop/lessons; echo "$RANDOM ${1:-x}" > "shop/lessons/${1:-x}.md"; c "${2:-dev}" -m "Add lesson ${1:-x}"; }
new() {
    rm -rf "$W0/$1"
    git init -q "$W0/$1"
    cd "$W0/$1"
    mkdir -p shop/lessons
    echo start > shop/lessons/s.md
    c init -m "Start $1"
    ROOT=$(git rev-parse HEAD)
}
# prop BRANCH WHO FILE ID LINE...|RM: propose a text, or its removal; pr NUMBER WHO BRANCH: merge it on the forge
prop() {
    local cur branch=$1 who=$2 f=$3 id=$4
    cur=$(git symbolic-ref --short HEAD)
    shift 4
    git checkout -q -b "$branch"
    if [ "$1" = RM ]; then git rm -q "$f"; else r "$f" "$id" "$@"; fi
    c "$who" -m "Propose rule"
    git checkout -q "$cur"
}
pr() { local n=$1 who=$2 branch=$3; shift 3; hub_as "$who" merge -q --no-ff -m "Merge pull request #$n from org/$branch" "$@" "$branch"; }
# approve WHO BRANCH ID FILE: the signed merge with the line, for the list $NAME
approve() {
    local who=$1 branch=$2 id=$3 f=$4 blob
    git merge -q --no-ff --no-commit "$branch" > /dev/null 2>&1
    blob=$(git rev-parse -q --verify ":$f" || echo -)
    ap_msg "$id" "$f" "" "$blob"
    sg "$who" commit -q -m "$MSG"
}
ap_msg() { MSG="Approve rule: R

Approves: ${NAME:-kb/${APPR_BRANCH:-main}} $1 $2 $4"; }
# repositories with one approved rule, or two texts of it after another; by a forge, or signed
base() { new "$1"; prop $Rb bo $a $A ${TEXT:-T1}; note n0; OLD=$(git rev-parse HEAD); pr 1 ada $Rb; P1=$(git rev-parse HEAD); git branch -qD $Rb; }
two() { base "$1"; prop $Rb bo $a $A T2; pr 2 ada $Rb; git branch -qD $Rb; }
sb() { new "$1"; prop $Rb bo $a $A T1; note n0; OLD=$(git rev-parse HEAD); approve ada $Rb $A $a; P1=$(git rev-parse HEAD); git branch -qD $Rb; S="--policy signed"; }
stwo() { sb "$1"; prop $Rb bo $a $A T2; approve bob $Rb $A $a; git branch -qD $Rb; }
hub() { git clone -q --bare . "$W0/$1.git"; git remote add origin "$W0/$1.git" 2> /dev/null; git fetch -q origin; git branch -q -u origin/main; }
main_is() { local h; h=$(git rev-parse "${1:-HEAD}"); git checkout -q main; git reset -q --hard "$h"; }
craft() { as mal commit-tree -m "$1" "${@:3}" "$2"; } # craft MESSAGE TREE -p PARENT...
# nest [BRANCH] DO UNDO: a side that proposes, merges and takes away again, before one innocent lesson
nest() {
    git checkout -q -b docs
    git checkout -q -b "${1:-$Rx}"
    eval "$2"
    c carl -m "Propose rule"
    git checkout -q docs
    as dora merge -q --no-ff -m "Merge branch '${1:-$Rx}'" "${1:-$Rx}"
    eval "$3"
    c mal -m tidy
    note docs mal
    git checkout -q main
}
# judge NAME WORDS ID [OPTION...]: keep the repository as it is now, to be judged
J=0
judge() {
    J=$((J + 1))
    cp -a . "$OUT/$J"
    cp "$W0/signers" "$OUT/$J.signers"
    printf '%s\t' "$@" > "$OUT/$J.asked"
}
