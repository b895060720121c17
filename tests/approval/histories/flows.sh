# What sensible teams do, below its name: `judge NAME WORDS ID [OPTION...]`, and the words that have to be in force.
# test_histories.py runs each by itself in a new folder, after world.sh.

## forge-merge-button
TEXT="l1 l2 l3 l4 T1" base f01
judge forge-merge-button T1 $A

## foxtrot-pull-brings-approved-edit
TEXT="l1 l2 l3 l4 T1" base f02
git checkout -q -b loc main~0
note loc cy
git checkout -q main
prop $Rb bo $a $A T2
pr 2 ada $Rb
git checkout -q loc
as cy merge -q --no-ff -m "Merge branch 'main' of hub" main
git branch -qf main loc
git checkout -q main
judge foxtrot-pull-brings-approved-edit T2 $A

## foxtrot-with-pending-edit-above
TEXT="l1 l2 l3 l4 T1" base f03
git checkout -q -b loc
note loc cy
git checkout -q main
prop $Rb bo $a $A T2
pr 2 ada $Rb
r $a $A T3
c ed -m "Pending edit on main"
git checkout -q loc
as cy merge -q --no-ff -m "Merge branch 'main' of hub" main
git branch -qf main loc
git checkout -q main
judge foxtrot-with-pending-edit-above T2 $A

## foxtrot-conflict-resolved-to-own
TEXT="l1 l2 l3 l4 T1" base f04
git checkout -q -b loc
r $a $A TLOC
c cy -m "My edit"
git checkout -q main
prop $Rb bo $a $A T2
pr 2 ada $Rb
git checkout -q loc
as cy merge -q --no-ff -X ours -m "Merge branch 'main' of hub" main
git branch -qf main loc
git checkout -q main
judge foxtrot-conflict-resolved-to-own T2 $A

## pr-after-update-branch
TEXT="l1 l2 l3 l4 T1" base f05
git checkout -q -b feat
note f cy
git checkout -q main
note m
git checkout -q feat
as cy merge -q --no-ff -m "Merge branch 'main' into feat" main
prop $Rb bo $a $A T2
git checkout -q main
git checkout -q $Rb
git checkout -q main
pr 2 ada $Rb
judge pr-after-update-branch T2 $A

## reviewer-pressed-update-branch
TEXT="l1 l2 l3 l4 T1" base f06
prop $Rb bo $a $A T2
note m
git checkout -q $Rb
hub_as ada merge -q --no-ff -m "Merge branch 'main' into $Rb" main
git checkout -q main
pr 2 ada $Rb
judge reviewer-pressed-update-branch T2 $A --distinct

## bot-batch-merge-#12-#13
new f07
for x in A B
do i=${!x}
prop rules/R-$x$x$x$x$x$x-x bo shop/rules/$x.md $i T$x
done
note m
as bors merge -q --no-ff -m "Merge #12 #13" rules/R-AAAAAA-x rules/R-BBBBBB-x 2>/dev/null
judge bot-batch-merge-#12-#13 TB $B

## azure-merge
new f08
prop rules/R-AAAAAA-x bo $a $A T1
note m
tick
GIT_AUTHOR_NAME=ada GIT_AUTHOR_EMAIL=ada@x GIT_COMMITTER_NAME=az GIT_COMMITTER_EMAIL=az@x git merge -q --no-ff -m "Merged PR 12: Propose rule" rules/R-AAAAAA-x
judge azure-merge T1 $A

## azure-squash
new f09
prop x bo $a $A T1
note m
git merge -q --squash x
hub_as bo commit -qm "Merged PR 12: Propose rule"
judge azure-squash T1 $A

## github-squash-with-number
new f10
prop x bo $a $A T1
note m
git merge -q --squash x
hub_as bo commit -qm "Propose rule (#7)"
judge github-squash-with-number T1 $A

## squash-without-number-is-told
new f11
prop x bo $a $A T1
note m
git merge -q --squash x
hub_as bo commit -qm "Propose rule"
judge squash-without-number-is-told - $A

## gitlab-squash-number-with-!
new f12
prop x bo $a $A T1
note m
git merge -q --squash x
hub_as bo commit -qm "Propose rule (!7)"
judge gitlab-squash-number-with-! T1 $A

## gitlab-merge-commit
new f13
prop x bo $a $A T1
note m
as ada merge -q --no-ff -m "Merge branch 'x' into 'main'

Propose rule

See merge request acme/kb!12" x
judge gitlab-merge-commit T1 $A

## rebase-merge-or-gitlab-ff-is-told
new f14
prop x bo $a $A T1
note m
git checkout -q x
as bo rebase -q main
git checkout -q main
git merge -q --ff-only x
judge rebase-merge-or-gitlab-ff-is-told - $A

## gerrit-submit
new f15
prop x bo $a $A T1
note m
as ada merge -q --no-ff -m 'Merge "Propose rule"' x
# the side brings this one rule and nothing else
judge gerrit-submit T1 $A

## bitbucket
new f16
prop x bo $a $A T1
note m
as ada merge -q --no-ff -m "Merged in x (pull request #4)

Title

Approved-by: Ada" x
judge bitbucket T1 $A

## merge-with-own-words
new f17
prop x bo $a $A T1
note m
as ada merge -q --no-ff -m "Add the rule about deploys" x
# the side brings this one rule and nothing else
judge merge-with-own-words T1 $A

## revert-by-pr
TEXT="l1 l2 l3 l4 T1" base f18
prop $Rb bo $a $A T2
pr 2 ada $Rb
git checkout -q -b rev
as ada revert -m 1 --no-edit HEAD >/dev/null
git checkout -q main
pr 3 ada rev
judge revert-by-pr T1 $A
git checkout -q -b rerev
as ada revert -m 1 --no-edit HEAD >/dev/null
git checkout -q main
pr 4 ada rerev
judge re-revert-by-pr T2 $A

## plain-revert-is-pending
TEXT="l1 l2 l3 l4 T1" base f19
prop $Rb bo $a $A T2
pr 2 ada $Rb
as ada revert -m 1 --no-edit HEAD >/dev/null
judge plain-revert-is-pending T2 $A

## stacked-prs
TEXT="l1 l2 l3 l4 T1" base f20
git checkout -q -b s1
r $a $A S1
c bo -m s1
git checkout -q -b s2
r shop/rules/b.md $B S2
c bo -m s2
git checkout -q main
pr 2 ada s1
git checkout -q s2
hub_as bo merge -q --no-ff -m "Merge branch 'main' into s2" main
git checkout -q main
pr 3 ada s2
judge stacked-prs S2 $B
judge stacked-prs-lower S1 $A

## parallel-edits-merged-text-is-nobodys
TEXT="l1 l2 l3 l4 T1" base f21
git checkout -q -b s1
r $a $A l1x l2 l3 l4 T1
c bo -m s1
git checkout -q main
git checkout -q -b s2
r $a $A l1 l2 l3 l4 T2
c cy -m s2
git checkout -q main
pr 2 ada s1
pr 3 ada s2
judge parallel-edits-merged-text-is-nobodys "l1x|l2|l3|l4|T1" $A

## parallel-edits-after-update-branch
TEXT="l1 l2 l3 l4 T1" base f22
git checkout -q -b s1
r $a $A l1x l2 l3 l4 T1
c bo -m s1
git checkout -q main
git checkout -q -b s2
r $a $A l1 l2 l3 l4 T2
c cy -m s2
git checkout -q main
pr 2 ada s1
git checkout -q s2
hub_as dan merge -q --no-ff -m "Merge branch 'main' into s2" main
git checkout -q main
pr 3 ada s2
judge parallel-edits-after-update-branch "l1x|l2|l3|l4|T2" $A

## rename-in-its-project
TEXT="l1 l2 l3 l4 T1" base f23
git mv $a shop/rules/renamed.md
c bo -m "Rename"
judge rename-in-its-project T1 $A

## two-rules-swap-files
TEXT="l1 l2 l3 l4 T1" base f24
prop rules/R-BBBBBB-y bo shop/rules/b.md $B TB
pr 2 ada rules/R-BBBBBB-y
git mv $a shop/rules/t.md
git mv shop/rules/b.md $a
git mv shop/rules/t.md shop/rules/b.md
c bo -m swap
judge two-rules-swap-files T1 $A
judge two-rules-swap-files-2 TB $B

## gitflow-approved-on-dev
TEXT="l1 l2 l3 l4 T1" base f25
git checkout -q -b dev
note d
prop $Rb bo $a $A T2
pr 2 ada $Rb
git checkout -q main
note k
as ada merge -q --no-ff -m "Merge branch 'dev'" dev
# needs a person, as doctor says
judge gitflow-approved-on-dev "l1|l2|l3|l4|T1" $A

## criss-cross
TEXT="l1 l2 l3 l4 T1" base f26
git checkout -q -b l1
note c1
git checkout -q main
git checkout -q -b l2
prop $Rb bo $a $A T2
pr 2 ada $Rb
x=$(git rev-parse l1) y=$(git rev-parse l2)
git checkout -q l1
as cy merge -q --no-ff -m "Merge branch 'main' of hub" $y
git checkout -q l2
as ada merge -q --no-ff -m "Merge branch 'main' of hub" $x
as ada merge -q --no-ff -m "Merge branch 'main' of hub" l1
git branch -qf main l2
git checkout -q main
judge criss-cross T2 $A

## octopus
TEXT="l1 l2 l3 l4 T1" base f27
git checkout -q -b o1
note o1
git checkout -q main
git checkout -q -b o2
note o2
git checkout -q main
prop $Rb bo $a $A T2
as ada merge -q --no-ff -m "Merge branches 'o1', 'o2' and '$Rb'" o1 o2 $Rb
# several branches at once: needs a person, as the hook and doctor say
judge octopus "l1|l2|l3|l4|T1" $A

## fork-synced-then-pr
TEXT="l1 l2 l3 l4 T1" base f28
git checkout -q -b fork
prop $Rb cy $a $A T2
git checkout -q main
note up
git checkout -q fork
as cy merge -q --no-ff -m "Merge branch 'main' of upstream into fork" main
git checkout -q main
git checkout -q $Rb
git checkout -q main
pr 9 ada $Rb
judge fork-synced-then-pr T2 $A

## shallow-depth-1-nothing
TEXT="l1 l2 l3 l4 T1" base f29
hub f29
prop $Rb bo $a $A T2
pr 2 ada $Rb
git push -q origin main
git clone -q --depth 1 file://$W0/f29.git $W0/f29s
cd $W0/f29s
judge shallow-depth-1-nothing - $A
git fetch -q --depth 2 origin
judge shallow-depth-2-sees-merge T2 $A

## filter-repo-keeps-merges
new f30
prop x bo $a $A T1
note m
as ada merge -q --no-ff -m "Merge branch 'x'" x
prop y bo $a $A T2
git checkout -q y
note z
git checkout -q main
pr 5 ada y
git filter-branch -f --msg-filter 'cat' --env-filter 'GIT_COMMITTER_DATE="$GIT_COMMITTER_DATE"' --tree-filter 'rm -f shop/lessons/m.md' -- main >/dev/null 2>&1
judge filter-repo-keeps-merges T2 $A

## removal-by-plain-commit-is-pending
TEXT="l1 l2 l3 l4 T1" base f31
git rm -q $a
c ed -m "Remove"
judge removal-by-plain-commit-is-pending T1 $A

## removal-approved
TEXT="l1 l2 l3 l4 T1" base f32
prop $Rb bo $a $A RM
pr 2 ada $Rb
judge removal-approved - $A

## subtree-add-of-another-repo
new f33o
prop $Rb bo $a $A T1
note q
pr 1 ada $Rb
new f33
note q
git fetch -q $W0/f33o main
as ada merge -q --allow-unrelated-histories --no-ff -s ours --no-commit FETCH_HEAD >/dev/null
git read-tree --prefix=sub/ FETCH_HEAD
git checkout -q -- sub
as ada commit -qm "Add 'sub/' from commit"
judge subtree-add-of-another-repo - $A

## signed-approve
sb g01
judge signed-approve T1 $A --policy signed

## signed-foxtrot
sb g02
git checkout -q -b loc
note loc cy
git checkout -q main
prop $Rb bo $a $A T2
approve ada $Rb $A $a
git checkout -q loc
as cy merge -q --no-ff -m "Merge branch 'main' of hub" main
git branch -qf main loc
git checkout -q main
judge signed-foxtrot T2 $A --policy signed

## signed-approval-through-a-pr
sb g03
prop $Rb bo $a $A T2
git checkout -q -b appr main
approve ada $Rb $A $a
git checkout -q main
note z
pr 4 cy appr
judge signed-approval-through-a-pr T2 $A --policy signed

## signed-second-root-by-subtree
sb g04
git checkout -q --orphan site
git rm -rfq .
echo x > i.html
c cy -m root
git checkout -q main
as cy merge -q --allow-unrelated-histories --no-ff -m "Bring in site" site
judge signed-second-root-by-subtree T1 $A --policy signed

## signed-approval-branch-renamed
sb g05
git branch -m main trunk
judge signed-approval-branch-renamed T1 $A --policy signed --rev trunk --branch trunk

## signed-rename
sb g06
git mv $a shop/rules/z.md
c bo -m mv
judge signed-rename T1 $A --policy signed

## signed-key-of-last-approver-left
sb g07
prop $Rb bo $a $A T2
approve bob $Rb $A $a
sed -i.bak /bob@x/d $W0/signers
judge signed-key-of-last-approver-left T1 $A --policy signed
mv $W0/signers.bak $W0/signers

## signed-parallel-tip-decides
sb g08
git checkout -q -b l1
prop p1 bo $a $A l1x T1
approve ada p1 $A $a
git checkout -q main
git checkout -q -b l2
prop p2 cy $a $A T2
approve bob p2 $A $a
as bob merge -q --no-ff -X ours -m "Merge branch 'main' of hub" l1
git branch -qf main l2
git checkout -q main
judge signed-parallel-tip-decides T2 $A --policy signed

## partial-clone
TEXT="l1 l2 l3 l4 T1" base h01
prop $Rb bo $a $A T2
pr 2 ada $Rb
git config uploadpack.allowFilter true
git clone -q --filter=blob:none file://$PWD $W0/h01p
cd $W0/h01p
judge partial-clone T2 $A

## own-squash-on-gitlab-is-told
TEXT="l1 l2 l3 l4 T1" base h02
r $a $A T2
git add -A
tick
GIT_AUTHOR_NAME=cy GIT_AUTHOR_EMAIL=cy@x GIT_COMMITTER_NAME=cy GIT_COMMITTER_EMAIL=cy@x GIT_AUTHOR_DATE="$T +0000" GIT_COMMITTER_DATE="$T +0000" git commit -qm "Own request squashed by its author (#9)"
judge own-squash-on-gitlab-is-told T1 $A

## signed-standing-text-approved
sb h03
r $a $A T2
c ed -m "Edit on main"
git checkout -q -b st
as ada commit -q --allow-empty -m "Propose as it stands"
git checkout -q main
ap_msg $A $a - $(git rev-parse HEAD:$a)
sg ada merge -q --no-ff -m "$MSG" st
judge signed-standing-text-approved T2 $A --policy signed

## foxtrot-by-git-merge-origin/main
TEXT="l1 l2 l3 l4 T1" base h04
git checkout -q -b loc
note loc cy
git checkout -q main
prop $Rb bo $a $A T2
pr 2 ada $Rb
git checkout -q loc
as cy merge -q --no-ff -m "Merge remote-tracking branch 'origin/main'" main
git branch -qf main loc
git checkout -q main
judge foxtrot-by-git-merge-origin/main T2 $A

## foxtrot-with-own-words-is-told
TEXT="l1 l2 l3 l4 T1" base h05
git checkout -q -b loc
note loc cy
git checkout -q main
prop $Rb bo $a $A T2
pr 2 ada $Rb
git checkout -q loc
as cy merge -q --no-ff -m "my own words" main
git branch -qf main loc
git checkout -q main
# needs a person, as doctor says
judge foxtrot-with-own-words-is-told "l1|l2|l3|l4|T1" $A

## foxtrot-brings-new-rule
TEXT="l1 l2 l3 l4 T1" base h06
git checkout -q -b loc
note loc cy
git checkout -q main
prop rules/R-BBBBBB-z bo shop/rules/b.md $B TB
pr 2 ada rules/R-BBBBBB-z
git checkout -q loc
as cy merge -q --no-ff -m "Merge branch 'main' of hub" main
git branch -qf main loc
git checkout -q main
judge foxtrot-brings-new-rule TB $B

## own-commit-approved-on-the-forge-then-pulled
TEXT="l1 l2 l3 l4 T1" base h07
r $a $A T2
c cy -m "Edit on my main"
git branch p2
note mine cy
git checkout -q -b hubmain nonexistent 2>/dev/null || git checkout -q -b hubmain HEAD~2
note other
pr 2 ada p2
git checkout -q main
as cy merge -q --no-ff -m "Merge branch 'main' of hub" hubmain
judge own-commit-approved-on-the-forge-then-pulled T2 $A

## squashed-revert-request
new h08
git checkout -q -b s1
r $a $A T1
c bo -m s1
git checkout -q main
note m
git merge -q --squash s1
hub_as bo commit -qm "Revert \"Use X (#7)\" (#13)"
judge squashed-revert-request T1 $A

## merge-with-title-and-number
TEXT="l1 l2 l3 l4 T1" base h09
prop $Rb bo $a $A T2
hub_as ada merge -q --no-ff -m "Deploy rule, in our own words (#12)" $Rb
judge merge-with-title-and-number T2 $A

## translated-merge-subject
TEXT="l1 l2 l3 l4 T1" base h10
prop $Rb bo $a $A T2
note m
as ada merge -q --no-ff -m "Zusammenführen von '$Rb'" $Rb
# the side brings this one rule and nothing else
judge translated-merge-subject T2 $A

## project-renamed-by-a-commit-is-pending
TEXT="l1 l2 l3 l4 T1" base h11
git mv shop store
c bo -m "Rename the project"
judge project-renamed-by-a-commit-is-pending shop: $A
git checkout -q -b mv2 HEAD~1
git mv shop store
c bo -m mv
git checkout -q main
git reset -q --hard HEAD~1
pr 5 ada mv2
judge project-renamed-by-a-request store: $A

## one-rule-in-several-commits-in-own-words
TEXT="l1 l2 l3 l4 T1" base i01
git checkout -q -b topic
r $a $A T2
c bo -m one
r $a $A T3
c bo -m two
git checkout -q main
note m
as ada merge -q --no-ff -m "approve the blue ceilings" topic
judge one-rule-in-several-commits-in-own-words T3 $A

## removal-in-own-words
TEXT="l1 l2 l3 l4 T1" base i02
prop topic bo $a $A RM
note m
as ada merge -q --no-ff -m "this one goes" topic
judge removal-in-own-words - $A

## second-edit-on-a-branch-that-was-merged-before
TEXT="l1 l2 l3 l4 T1" base i03
prop topic bo $a $A T2
note m
as ada merge -q --no-ff -m "first" topic
git checkout -q topic
r $a $A T3
c bo -m more
git checkout -q main
note k
as ada merge -q --no-ff -m "second" topic
judge second-edit-on-a-branch-that-was-merged-before T3 $A

## move-to-another-project-in-own-words
TEXT="l1 l2 l3 l4 T1" base i04
git checkout -q -b topic
mkdir -p global/rules
git mv $a global/rules/a.md
c bo -m mv
git checkout -q main
note m
as ada merge -q --no-ff -m "for all projects" topic
judge move-to-another-project-in-own-words global: $A

## words-with-into-in-them
TEXT="l1 l2 l3 l4 T1" base i05
prop topic bo $a $A T2
note m
as ada merge -q --no-ff -m "Take what Bo's rule says into account" topic
judge words-with-into-in-them T2 $A

## pull-of-main-as-git-writes-it
TEXT="l1 l2 l3 l4 T1" base i06
git clone -q . $W0/i06c
prop $Rb bo $a $A T2
pr 2 ada $Rb
cd $W0/i06c
note loc cy
as cy pull -q --no-rebase --no-edit
judge pull-of-main-as-git-writes-it T2 $A
git reset -q --hard HEAD~1
as cy merge -q --no-edit origin/main
judge merge-of-origin-main-as-git-writes-it T2 $A

## request-from-the-main-of-a-fork-on-gitlab
TEXT="l1 l2 l3 l4 T1" base i07
git checkout -q -b fork
r $a $A T2
c cy -m edit
git checkout -q main
note m
as ada merge -q --no-ff -m "Merge branch 'main' into 'main'

Edit

See merge request acme/kb!12" fork
judge request-from-the-main-of-a-fork-on-gitlab T2 $A
