# What attackers tried, below its name: `judge NAME WORDS ID [OPTION...]`, and the words that are in force after it.
# test_histories.py runs each by itself in a new folder, after world.sh.

## c1-nested-new-rule
base c1a
nest $Rx 'r $b $B EVIL' 'git rm -q $b'
pr 3 ada docs
judge c1-nested-new-rule - $B

## c1-nested-edit
base c1b
nest $Rb 'r $a $A EVIL' 'git checkout -q main -- $a'
pr 3 ada docs
judge c1-nested-edit T1 $A

## c1-nested-removal
base c1c
nest $Rb 'git rm -q $a' 'git checkout -q main -- $a'
pr 3 ada docs
judge c1-nested-removal T1 $A

## c1-nested-plain-merge
base c1d
nest $Rx 'r $b $B EVIL' 'git rm -q $b'
as ada merge -q --no-ff -m "Merge notes" docs
judge c1-nested-plain-merge - $B

## c1-hidden-below-a-visible-edit
base c1e
nest $Rb 'r $a $A EVIL' 'r $a $A T1 typo-fixed'
as ada merge -q --no-ff -m "Merge notes" docs
judge c1-hidden-below-a-visible-edit T1 $A

## c1-hidden-below-a-visible-new-rule
base c1f
nest $Rx 'r $b $B EVIL' 'r $b $B fine'
as ada merge -q --no-ff -m "Merge notes" docs
judge c1-hidden-below-a-visible-new-rule - $B

## squash-number-inside-removed
base c1g
git checkout -q -b docs
r $b $B EVIL
hub_as mal add -A
hub_as mal commit -qm "Add rule (#7)"
git rm -q $b
c mal -m y
note d mal
git checkout -q main
as ada merge -q --no-ff -m "Merge notes" docs
judge squash-number-inside-removed - $B

## pull-of-a-fork-with-forged-number
base p1
git checkout -q -b fork
r $b $B EVIL
hub_as mal add -A
hub_as mal commit -qm "Add rule (#7)"
git checkout -q main
note x
as ada merge -q --no-ff -m "Merge branch 'fork' of https://evil/kb" fork
# known: the side brings one rule alone, so merging it is approving it
judge pull-of-a-fork-with-forged-number EVIL $B

## trial-on-a-branch-then-merged
base p2
prop $Rx bo $b $B EVIL
git checkout -q -b ada/try
note t ada
as ada merge -q --no-ff -m "Merge branch '$Rx' into ada/try" $Rx
git checkout -q main
note m
as cy merge -q --no-ff -m "Merge branch 'ada/try'" ada/try
judge trial-on-a-branch-then-merged - $B

## git-pull-on-the-proposal-branch
base p3
prop $Rx bo $b $B EV1
git clone -q . $W0/p3c
(cd $W0/p3c; git checkout -q $Rx; note z bo; cd $W0/p3; git checkout -q $Rx; r $b $B EVIL; c bo -m more; git checkout -q main)
(cd $W0/p3c; as bo pull -q --no-rebase --no-edit origin $Rx; git branch -m $Rx x 2>/dev/null)
git fetch -q $W0/p3c x:topic
note m
as cy merge -q --no-ff -m "Merge branch 'topic'" topic
judge git-pull-on-the-proposal-branch - $B

## merge.log-lists-numbers
base p4
git checkout -q -b topic
r $b $B EVIL
c bo -m "Try it (#7)"
r $b $B EVIL2
c bo -m "More"
git checkout -q main
note m
as cy merge -q --no-ff --log --no-edit topic
# known: the side brings one rule alone, so merging it is approving it
judge merge.log-lists-numbers EVIL2 $B

## pull-of-refs/pull/12/head
base p5
git checkout -q -b topic
r $b $B EVIL
c bo -m "x"
git update-ref refs/pull/12/head HEAD
git checkout -q main
git clone -q . $W0/p5c
cd $W0/p5c
note m
as cy pull -q --no-rebase --no-edit origin refs/pull/12/head
judge pull-of-refs/pull/12/head - $B

## branch-called-fix-#12
base p6
git checkout -q -b 'fix-#12'
r $b $B EVIL
c bo -m x
git checkout -q main
note m
as cy merge -q --no-ff --no-edit 'fix-#12'
# known: the side brings one rule alone, so merging it is approving it
judge branch-called-fix-#12 EVIL $B

## subject-that-mentions-the-branch
base p7
prop "x/$Rx" bo $b $B EVIL
note m
as cy merge -q --no-ff -m "Talk about $Rx, not approved yet" "x/$Rx"
# known: the side brings one rule alone, so merging it is approving it
judge subject-that-mentions-the-branch EVIL $B

## body-that-mentions-a-number
base p8
prop docs bo $b $B EVIL
note m
as cy merge -q --no-ff -m "Merge branch 'docs'

Does not close #12 yet" docs
# known: the side brings one rule alone, so merging it is approving it
judge body-that-mentions-a-number EVIL $B

## issue-number-by-an-agent
base n1
r $a $A EVIL
c agent -m "Tidy the rule (#45)"
judge issue-number-by-an-agent T1 $A

## pick-of-a-numbered-commit
base n2
git checkout -q -b rel
r $b $B EVIL
c bo -m "Only for the release (#7)"
git checkout -q main
note m
as cy cherry-pick rel >/dev/null
judge pick-of-a-numbered-commit - $B

## amend-of-a-numbered-commit
new n3
note m
r $a $A T1
hub_as bo add -A
hub_as bo commit -qm "Use X (#7)"
r $a $A EVIL
git add -A
tick
GIT_COMMITTER_DATE="$T +0000" git -c user.name=cy -c user.email=cy@x commit -q --amend --no-edit
judge amend-of-a-numbered-commit - $A

## plain-revert-of-a-numbered-commit
base n4
r $a $A T2
hub_as bo add -A
hub_as bo commit -qm "Use T2 (#7)"
as cy revert --no-edit HEAD >/dev/null
judge plain-revert-of-a-numbered-commit T2 $A

## distinct-own-numbered-commit
base n5
r $a $A EVIL
c mal -m "Use T2 (#7)"
judge distinct-own-numbered-commit T1 $A --distinct

## put-back-by-a-commit
two b1
r $a $A T1
c mal -m back
judge put-back-by-a-commit T2 $A

## rollback-s-ours-swapped
two b2
t=$(git rev-parse main)
git checkout -q -b o $P1
note q mal
as mal merge -q -s ours --no-ff -m "Merge branch 'main' of hub" $t
main_is
judge rollback-s-ours-swapped T2 $A

## signed-rollback-s-ours-swapped
stwo b3
t=$(git rev-parse main)
git checkout -q -b o $P1
note q mal
as mal merge -q -s ours --no-ff -m "Merge branch 'main' of hub" $t
main_is
judge signed-rollback-s-ours-swapped T2 $A $S

## signed-rollback-by-descent
stwo b4
git checkout -q -b o $P1
note q mal
git checkout -q main
h=$(craft "Merge notes" o^{tree} -p main -p o)
main_is $h
git reset -q --hard
judge signed-rollback-by-descent T2 $A $S

## signed-rollback-by-fallback
stwo b5
git checkout -q -b o $P1
r $a $A EVIL
c mal -m e
git checkout -q main
as mal merge -q --no-ff -X theirs -m "Merge notes" o
judge signed-rollback-by-fallback T2 $A $S

## rollback-by-fallback
two b6
git checkout -q -b o $P1
r $a $A EVIL
c mal -m e
git checkout -q main
as mal merge -q --no-ff -X theirs -m "Merge notes" o
# known: the side brings one rule alone, so merging it is approving it
judge rollback-by-fallback EVIL $A

## signed-rule-vanishes-s-ours
sb b7
t=$(git rev-parse main)
git checkout -q -b o $OLD
note q mal
as mal merge -q -s ours --no-ff -m "Merge branch 'main' of hub" $t
main_is
judge signed-rule-vanishes-s-ours T1 $A $S

## rule-vanishes-s-ours
base b8
t=$(git rev-parse main)
git checkout -q -b o $OLD
note q mal
as mal merge -q -s ours --no-ff -m "Merge branch 'main' of hub" $t
main_is
judge rule-vanishes-s-ours T1 $A

## signed-removed-rule-resurrected
sb b9
prop $Rb bo $a $A RM
approve bob $Rb $A $a
git checkout -q -b o $P1
note q mal
git checkout -q main
h=$(craft "Merge notes" o^{tree} -p main -p o)
main_is $h
git reset -q --hard
judge signed-removed-rule-resurrected - $A $S

## removed-rule-resurrected
base b10
prop $Rb bo $a $A RM
pr 2 ada $Rb
git checkout -q -b o $P1
note q mal
git checkout -q main
h=$(craft "Merge notes" o^{tree} -p main -p o)
main_is $h
git reset -q --hard
judge removed-rule-resurrected - $A

## revert-of-approved-removal
base b11
prop $Rb bo $a $A RM
pr 2 ada $Rb
as mal revert -m 1 --no-edit HEAD >/dev/null
judge revert-of-approved-removal - $A

## signed-put-back-then-swapped
stwo b12
r $a $A T1
c mal -m back
t=$(git rev-parse main)
git checkout -q -b o $P1
note q mal
as mal merge -q --no-ff -m "Merge branch 'main' of hub" $t
main_is
judge signed-put-back-then-swapped T2 $A $S

## put-back-then-swapped
two b13
r $a $A T1
c mal -m back
t=$(git rev-parse main)
git checkout -q -b o $P1
note q mal
as mal merge -q --no-ff -m "Merge branch 'main' of hub" $t
main_is
# known to be open, as docs/security.md says
judge put-back-then-swapped T1 $A

## signed-rollback-in-shallow
stwo b14
t=$(git rev-parse main)
git checkout -q -b o $P1
as mal merge -q -s ours --no-ff -m "Merge branch 'main' of hub" $t
main_is
git checkout -q -b long $t
for i in 1 2 3 4 5 6
do note k$i
done
h=$(craft m o^{tree} -p o -p long)
main_is $h
git clone -q --depth 5 file://$PWD $W0/b14s
cd $W0/b14s
judge signed-rollback-in-shallow - $A $S

## side-that-never-touched-it
two b15
git checkout -q -b o $P1
note q mal
git checkout -q main
h=$(craft "Merge pull request #9 from mal/o" o^{tree} -p main -p o)
main_is $h
git reset -q --hard
judge side-that-never-touched-it T2 $A

## rollback-in-shallow
two b16
t=$(git rev-parse main)
git checkout -q -b o $P1
as mal merge -q -s ours --no-ff -m "Merge branch 'main' of hub" $t
git checkout -q -b long $t
for i in 1 2 3 4 5 6
do note k$i
done
h=$(craft m o^{tree} -p o -p long)
git checkout -q main
main_is $h
git clone -q --depth 5 file://$PWD $W0/b16s
cd $W0/b16s
judge rollback-in-shallow T2 $A

## signed-approval-on-a-closed-request
sb b17
prop $Rb bo $a $A T2
git checkout -q -b closed
approve bob $Rb $A $a
git checkout -q main
note m
as mal merge -q --no-ff -m "Merge notes" closed
# known to be open, as docs/security.md says
judge signed-approval-on-a-closed-request T2 $A $S

## born-in-the-merge
base m1
prop docs bo shop/lessons/z.md $D z
note m
as mal merge -q --no-ff --no-commit docs >/dev/null 2>&1
r $a $A EVIL
git add -A
as mal commit -qm "Merge pull request #3 from mal/docs"
judge born-in-the-merge T1 $A

## octopus-text-of-the-other-side
base m2
git checkout -q -b o1
r $a $A EVIL
c mal -m e
git checkout -q main
prop $Rb bo $a $A T2
h=$(craft "Merge branches '$Rb' and 'o1'" o1^{tree} -p main -p $Rb -p o1)
main_is $h
git reset -q --hard
judge octopus-text-of-the-other-side T1 $A

## second-rule-in-the-proposal
base m3
git checkout -q -b $Rb
r $a $A T2
r $b $B EVIL
c bo -m both
git checkout -q main
note m
as ada merge -q --no-ff -m "Merge branch '$Rb'" $Rb
judge second-rule-in-the-proposal - $B

## second-rule-with-the-same-end
E=01M82H56GFBPYC5697MZAAAAAA
base m4
git checkout -q -b $Rb
r $a $A T2
r $b $E EVIL
c bo -m both
git checkout -q main
note m
as ada merge -q --no-ff -m "Merge branch '$Rb'" $Rb
judge second-rule-with-the-same-end - $E

## merge-in-which-an-agent-says-so
base m5
prop $Rx bo $b $B EVIL
note m
as ada merge -q --no-ff -m "Merge branch '$Rx'

Agent: claude" $Rx
judge merge-in-which-an-agent-says-so - $B

## moved-to-another-project
base v1
mkdir -p global/rules
git mv $a global/rules/a.md
c mal -m mv
judge moved-to-another-project shop: $A

## signed-moved-to-another-project
sb v2
mkdir -p global/rules
git mv $a global/rules/a.md
c mal -m mv
judge signed-moved-to-another-project shop: $A $S

## copy-of-the-id-with-another-text
base v3
r global/rules/a.md $A EVIL
c mal -m copy
judge copy-of-the-id-with-another-text T1 $A

## id-changed-in-place
base v4
sed -i "s/$A/$B/" $a
c mal -m id
judge id-changed-in-place T1 $A
judge id-changed-in-place-new - $B

## vacuous
base d1
r $b $B EVIL
c mal -m e
git checkout -q -b draft
note a alice
git checkout -q main
git rm -q $b
c mal -m oops
git merge -q --no-ff --no-commit draft >/dev/null 2>&1
git checkout -q draft -- $b
as mal commit -qm "Merge branch '$Rx'"
judge vacuous - $B --distinct

## auto-merge-by-a-bot
base d2
prop $Rx mal $b $B EVIL
note m
tick
GIT_AUTHOR_NAME=q GIT_AUTHOR_EMAIL="q[bot]@users.noreply.github.com" GIT_COMMITTER_NAME=GitHub GIT_COMMITTER_EMAIL=noreply@github.com git merge -q --no-ff -m "Merge pull request #3 from mal/x" $Rx
judge auto-merge-by-a-bot - $B --distinct

## amended-proposal-of-another
base d3
prop $Rx bo $b $B GOODX
git checkout -q $Rx
r $b $B EVIL
git add -A
as mal commit -q --amend --no-edit
git checkout -q main
note m
as mal merge -q --no-ff -m "Merge branch '$Rx'" $Rx
judge amended-proposal-of-another - $B --distinct

## author-of-merge-another-committer-own
base d4
prop $Rx mal $b $B EVIL
note m
tick
GIT_AUTHOR_NAME=z GIT_AUTHOR_EMAIL=z@x GIT_COMMITTER_NAME=mal GIT_COMMITTER_EMAIL=mal@x git merge -q --no-ff -m "Merge branch '$Rx'" $Rx
judge author-of-merge-another-committer-own - $B --distinct

## own-merge-through-a-service
base d5
prop $Rx mal $b $B EVIL
note m
tick
GIT_AUTHOR_NAME=mal GIT_AUTHOR_EMAIL=mal@x GIT_COMMITTER_NAME=svc GIT_COMMITTER_EMAIL=svc@x git merge -q --no-ff -m "Merge branch '$Rx'" $Rx
judge own-merge-through-a-service - $B --distinct

## own-merge-capitals
base d6
prop $Rx mal $b $B EVIL
note m
tick
GIT_AUTHOR_NAME=z GIT_AUTHOR_EMAIL=Mal@X GIT_COMMITTER_NAME=z GIT_COMMITTER_EMAIL=Mal@X git merge -q --no-ff -m "Merge branch '$Rx'" $Rx
judge own-merge-capitals - $B --distinct

## rebase-r-signs-a-forged-line
sb s1
git checkout -q -b malpr
git checkout -q -b mx
r $b $B EVIL
c mal -m e
git checkout -q malpr
note l mal
git merge -q --no-ff --no-commit mx >/dev/null 2>&1
ap_msg $B $b - $(git rev-parse :$b)
as mal commit -qm "$MSG"
git checkout -q main
note u
git checkout -q malpr
sg ada rebase -q -r main
git checkout -q main
as mal merge -q --no-ff -m "Merge pull request #3 from mal/pr" malpr
judge rebase-r-signs-a-forged-line - $B $S

## amend-signs-a-forged-line
sb s2
git checkout -q -b malpr
git checkout -q -b mx
r $b $B EVIL
c mal -m e
git checkout -q malpr
note l mal
git merge -q --no-ff --no-commit mx >/dev/null 2>&1
ap_msg $B $b - $(git rev-parse :$b)
as mal commit -qm "$MSG"
tick
GIT_COMMITTER_DATE="$T +0000" git -c user.name=ada -c user.email=ada@x -c user.signingkey=$HOME/.ssh/ada.pub commit -q -S --amend --no-edit
git checkout -q main
as mal merge -q --no-ff -m "Merge pull request #3 from mal/pr" malpr
judge amend-signs-a-forged-line - $B $S

## c2-signed-rebase
sb s3
prop $Rx bo $b $B EVIL
note u
git checkout -q $Rx
sg ada rebase -q main
git checkout -q main
as bo merge -q --no-ff -m "Merge pull request #3 from x/$Rx" $Rx
judge c2-signed-rebase - $B $S

## c3-signed-trial
sb s4
prop $Rx bo $b $B EVIL
git checkout -q -b try
note t
sg ada merge -q --no-ff -m "Merge branch '$Rx'" $Rx
git checkout -q main
note m
as mal merge -q --no-ff -m "Merge notes" try
judge c3-signed-trial - $B $S

## signed-in-another-repository
sb s5
S5=$S
new s5o
prop $Rx bo $b $B EVIL
note q
NAME=own/main approve ada $Rx $B $b
cd $W0/s5
git fetch -q $W0/s5o main
as mal merge -q --allow-unrelated-histories --no-ff -m "Bring in notes" FETCH_HEAD
judge signed-in-another-repository - $B $S5

## signed-in-a-fork-of-the-same-name
sb s6
git clone -q . $W0/s6f
cd $W0/s6f
prop $Rx bo $b $B EVIL
note q ada
NAME=fork/main approve ada $Rx $B $b
cd $W0/s6
git fetch -q $W0/s6f main
note m
as mal merge -q --no-ff -m "Merge notes" FETCH_HEAD
judge signed-in-a-fork-of-the-same-name - $B $S

## line-of-another-branch
sb s7
prop $Rx bo $b $B EVIL
APPR_BRANCH=other approve ada $Rx $B $b
judge line-of-another-branch - $B $S

## swapped-roots-silence-all
sb s8
git checkout -q --orphan evil
git rm -rfq .
echo x > n.md
c mal -m root
as mal merge -q --allow-unrelated-histories --no-ff -m "Merge branch 'main' into evil" main
main_is evil
judge swapped-roots-silence-all T1 $A $S

## key-that-is-not-pinned
sb s9
prop $Rx bo $b $B EVIL
approve mal $Rx $B $b
judge key-that-is-not-pinned - $B $S

## line-of-another-blob
sb s10
prop $Rx bo $b $B GOODX
approve ada $Rx $B $b
r $b $B EVIL
git add -A
tick
GIT_COMMITTER_DATE="$T +0000" git -c user.name=ada -c user.email=ada@x -c user.signingkey=$HOME/.ssh/ada.pub commit -q -S --amend --no-edit
judge line-of-another-blob - $B $S

## approval-taken-back-by-reset-leaks
sb s11
prop $Rx bo $b $B EVIL
git checkout -q -b l
approve ada $Rx $B $b
git checkout -q main
note m
as mal merge -q --no-ff -m "Merge notes" l
# known to be open, as docs/security.md says
judge approval-taken-back-by-reset-leaks EVIL $B $S

## later-identical-text
sb s12
prop $Rx mal $b $B EVIL
approve ada $Rx $B $b
prop q mal $b $B RM
git checkout -q -b z q
git checkout -q main
approve bob q $B $b
r $b $B EVIL
c mal -m again
judge later-identical-text - $B $S

## pick-of-a-forged-approval-signs-it
sb s13
prop $Rx bo $b $B EVIL
git checkout -q -b l
approve mal $Rx $B $b
git checkout -q main
note m
sg ada cherry-pick -m 1 l >/dev/null
judge pick-of-a-forged-approval-signs-it - $B $S

## nested-in-a-pull-of-a-forks-main
base p9
git checkout -q -b fork
nest $Rx 'r $b $B EVIL' 'git rm -q $b'
git checkout -q main
note x
as ada merge -q --no-ff -m "Merge branch 'main' of https://evil/kb" docs
judge nested-in-a-pull-of-a-forks-main - $B

## rollback-s-ours-edited-words
two b18
t=$(git rev-parse main)
git checkout -q -b o $P1
note q mal
as mal merge -q -s ours --no-ff -m "Merge notes" $t
main_is
# known to be open, as docs/security.md says
judge rollback-s-ours-edited-words T1 $A

## forged-in-a-pull-of-a-forks-main
base p10
git checkout -q -b fork
nest $Rx 'r $b $B EVIL' 'true'
git checkout -q main
note x
as ada merge -q --no-ff -m "Merge branch 'main' of https://evil/kb" docs
# known to be open, as docs/security.md says
judge forged-in-a-pull-of-a-forks-main EVIL $B

## agent-runs-git-merge-of-the-proposal
base p11
prop $Rx bo $b $B EVIL
note x
git merge -q --no-ff --no-edit $Rx
# known to be open, as docs/security.md says
judge agent-runs-git-merge-of-the-proposal EVIL $B

## rebase-committer-date-is-author-date
sb s14
git checkout -q -b malpr
r $b $B EVIL
ap_msg $B $b - $(git hash-object -w $b)
git add -A
tick
GIT_AUTHOR_NAME=ada GIT_AUTHOR_EMAIL=ada@x GIT_COMMITTER_NAME=ada GIT_COMMITTER_EMAIL=ada@x GIT_AUTHOR_DATE="$T +0000" GIT_COMMITTER_DATE="$T +0000" git commit -q -m "$MSG"
git checkout -q main
note u
git checkout -q malpr
git -c user.name=ada -c user.email=ada@x -c user.signingkey=$HOME/.ssh/ada.pub -c commit.gpgsign=true rebase -q --committer-date-is-author-date main
git checkout -q main
as mal merge -q --no-ff -m "Merge pull request #3 from mal/pr" malpr
judge rebase-committer-date-is-author-date - $B $S

## rebase-r-committer-date-is-author-date
sb s15
export GIT_COMMITTER_NAME=ada GIT_COMMITTER_EMAIL=ada@x GIT_AUTHOR_NAME=ada GIT_AUTHOR_EMAIL=ada@x
git checkout -q -b malpr
git checkout -q -b mx
r $b $B EVIL
c ada -m e
git checkout -q malpr
note l ada
git merge -q --no-ff --no-commit mx >/dev/null 2>&1
ap_msg $B $b - $(git rev-parse :$b)
as ada commit -qm "$MSG"
git checkout -q main
note u
git checkout -q malpr
unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL
git -c user.signingkey=$HOME/.ssh/ada.pub -c commit.gpgsign=true rebase -q -r --committer-date-is-author-date main
unset GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
git checkout -q main
as mal merge -q --no-ff -m "Merge pull request #3 from mal/pr" malpr
# known to be open, as docs/security.md says
judge rebase-r-committer-date-is-author-date EVIL $B $S

## forge-local-ref-set-by-an-agent
base f1
git clone -q --bare . $W0/f1.git
git remote add origin $W0/f1.git
git fetch -q
r $b $B EVIL
c mal -m e
git update-ref refs/remotes/origin/main HEAD
# known to be open, as docs/security.md says
judge forge-local-ref-set-by-an-agent EVIL $B --policy forge

## forge-origin-is-my-own-fork
base f2
git clone -q --bare . $W0/f2.git
git clone -q $W0/f2.git $W0/f2c
cd $W0/f2c
r $b $B EVIL
c mal -m e
git clone -q --bare . $W0/f2fork.git
git remote rename origin upstream
git remote add origin $W0/f2fork.git
git fetch -q origin
# known to be open, as docs/security.md says
judge forge-origin-is-my-own-fork EVIL $B --policy forge

## replaced-commit
base r1
g=$(git rev-parse HEAD)
r $b $B EVIL
c mal -m e
h=$(git rev-parse HEAD)
k=$(craft "Merge pull request #9 from a/$Rx" HEAD^{tree} -p $g -p $h)
git replace $h $k
judge replaced-commit - $B

## ladder-of-14-pending-merges
base w1
for i in $(seq 1 14)
do t=$(git rev-parse main)
git checkout -q -b x$i $t 2>/dev/null
r $a $A X$i
c mal -m x
git checkout -q main
r $a $A Y$i
c mal -m y
as mal merge -q --no-ff -X ours -m "Merge notes" x$i
git checkout -q x$i
as mal merge -q --no-ff -X theirs -m "Merge notes" main^1 2>/dev/null
git checkout -q main
as mal merge -q --no-ff -X theirs -m "Merge notes" x$i 2>/dev/null
done
judge ladder-of-14-pending-merges T1 $A

# --- words of others, read as approval

## tag-whose-message-names-a-request
base t1
git checkout -q -b docs
r $b $B EVIL
c mal -m Docs
git tag -a v1.0 -m "Release 1.0

See merge request acme/kb!7"
git checkout -q main
note m
as ada merge -q --no-ff --no-edit v1.0
judge tag-whose-message-names-a-request - $B
judge tag-whose-message-names-a-request-distinct - $B --distinct

## signed-tag-merged-with-own-words
base t2
prop docs bo $b $B EVIL
sg bob tag -s v1.0 -m "x" docs
note m
as ada merge -q --no-ff -m "Take the rule in" v1.0
judge signed-tag-merged-with-own-words - $B

## plain-tag-and-a-commit-by-its-id
base t3
prop docs bo $b $B EVIL
git tag v1.0 docs
note m
as ada merge -q --no-ff --no-edit v1.0
judge plain-tag - $B
git reset -q --hard HEAD~1
as ada merge -q --no-ff --no-edit "$(git rev-parse docs)"
judge commit-by-its-id - $B

## tag-whose-message-holds-our-line-is-signed
sb t4
git checkout -q -b docs
r $b $B EVIL
c mal -m Docs
ap_msg $B $b - "$(git rev-parse HEAD:$b)"
git tag -a v1.0 -m "$MSG"
git checkout -q main
note m
sg ada merge -q --no-ff --no-edit v1.0
judge tag-whose-message-holds-our-line-is-signed - $B $S

## our-line-below-another-subject
sb t5
prop $Rx bo $b $B EVIL
git merge -q --no-ff --no-commit $Rx > /dev/null 2>&1
ap_msg $B $b - "$(git rev-parse :$b)"
sg ada commit -q -m "Merge branch 'docs'

${MSG#*$'\n\n'}"
judge our-line-below-another-subject - $B $S

## branch-called-docs/main
base t6
git checkout -q -b docs/main
git checkout -q -b $Rx
r $b $B EVIL
c carl -m "Propose rule"
git checkout -q docs/main
as dora merge -q --no-ff -m "Merge branch '$Rx'" $Rx
git checkout -q main
note m
as ada merge -q --no-ff --no-edit docs/main
judge branch-called-docs/main - $B

## remote-tracking-branch-called-docs/main
base t7
git checkout -q -b docs/main
git checkout -q -b $Rx
r $b $B EVIL
c carl -m "Propose rule"
git checkout -q docs/main
as dora merge -q --no-ff -m "Merge branch '$Rx'" $Rx
git checkout -q main
note m
git clone -q . $W0/t7c
cd $W0/t7c
note n
as ada merge -q --no-ff --no-edit origin/docs/main
judge remote-tracking-branch-called-docs/main - $B

## main-merged-together-with-another-branch
base t8
git checkout -q -b loc
note loc cy
git checkout -q main
git checkout -q -b docs
git checkout -q -b $Rx
r $b $B EVIL
c carl -m "Propose rule"
git checkout -q docs
as dora merge -q --no-ff -m "Merge pull request #9 from x/y" $Rx
git checkout -q main
note m
git checkout -q loc
as cy merge -q --no-ff --no-edit main docs
git branch -qf main loc
git checkout -q main
judge main-merged-together-with-another-branch - $B
judge what-main-brought-stays T1 $A

## gitlab-line-below-another-subject
base t9
git checkout -q -b docs
r $a $A EVIL
r $b $B EVIL
c mal -m Docs
git checkout -q main
note m
as ada merge -q --no-ff -m "Merge the docs

See merge request acme/kb!7" docs
judge gitlab-line-below-another-subject - $B

## squash-by-an-agent
base t10
r $b $B EVIL
git add -A
hub_as mal commit -q -m "Fix the docs (#7)" -m "Agent: claude-code"
judge squash-by-an-agent - $B

## squash-with-the-author-of-an-agent
base t11
r $b $B EVIL
git add -A
as ada commit -q --author="Claude <noreply@anthropic.com>" --date="$((T + 60)) +0000" -m "Fix the docs (#7)"
judge squash-with-the-author-of-an-agent - $B

## numbered-commit-rebased-or-applied-with-its-date
base t12
git checkout -q -b d
r $b $B EVIL
c mal -m "Fix (#7)"
git format-patch -1 --stdout -k > $W0/patch
git checkout -q main
note m
as ada am -q -k --committer-date-is-author-date < $W0/patch
judge applied-with-its-date - $B
git reset -q --hard HEAD~1
git checkout -q d
as ada rebase -q --committer-date-is-author-date main
judge rebased-with-its-date - $B --rev d

## revert-in-a-merge
two t13
git checkout -q -b back
r $a $A T1
c mal -m back
git checkout -q main
note m
as ada merge -q --no-ff -m 'Revert "Merge pull request #2"' back
judge revert-in-a-merge T2 $A

## one-rule-and-a-lesson
base t14
prop docs bo $b $B EVIL
git checkout -q docs
note more bo
git checkout -q main
note m
as ada merge -q --no-ff -m "Take the rule in" docs
judge one-rule-and-a-lesson - $B

## one-rule-and-another-file-beside-it
base t15
git checkout -q -b docs
r $b $B EVIL
echo x > other.txt
c bo -m both
git rm -q other.txt
c bo -m less
git checkout -q main
note m
as ada merge -q --no-ff -m "Take the rule in" docs
judge one-rule-and-another-file-beside-it - $B

## two-rules-in-two-commits
base t16
git checkout -q -b docs
r $b $B EVIL
c bo -m one
r $a $A EVIL
c bo -m two
git checkout -q main
note m
as ada merge -q --no-ff -m "Take the rule in" docs
judge two-rules-in-two-commits - $B
judge two-rules-in-two-commits-2 T1 $A

## one-rule-merged-into-another-branch
base t17
prop docs bo $b $B EVIL
git checkout -q -b trial
note t
as ada merge -q --no-ff --no-edit docs
git checkout -q main
as ada merge -q --ff-only trial
judge one-rule-merged-into-another-branch - $B
