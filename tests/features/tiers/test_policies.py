"""Policies of enterprises through the library: a user, a project, two enterprises, and people who try to get round."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons import extensions
from ai_lessons.app import (
    editing,
    entries,
    pending_rules,
    proposals,
)
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import LessonDraft, RuleDraft, Suggested
from ai_lessons.errors import InvalidEntry, NotFound, Refused
from ai_lessons.features.tiers import policies, promotion
from ai_lessons.features.tiers.governance import VALUES, PolicyVerdict
from ai_lessons.features.tiers.policies import Move, governed
from ai_lessons.features.tiers.promotion import Promoted, PromotionRequest
from ai_lessons.features.tiers.releases import decide
from ai_lessons.model import Places, TierPlace
from ai_lessons.model.chunks import code_blocks
from ai_lessons.model.entries import Entry, Kind
from app.world import ACME, BETA, Company, lesson
from real_world import put_file

# of another feature, which may be taken out
ADD = extensions.load("ai_lessons.features.intake.jobs:add_resources")
DRAFT = extensions.load("ai_lessons.features.intake.plan:ResourceDraft")

CODE = "Do this:\n\n```sh\nrun --it\n```\n"


def move(source: str = ACME, target: str = "user", *, code: bool = False) -> Move:
    entry = Entry(
        "01JD3Z8QK5W7M2X9V4T68F3K2A",
        Kind.LESSON,
        "PUT replaces all",
        "global/lessons/x.md",
        "global",
    )
    return Move(entry, source, target, code)


def verdict_of(tiers: Library, one: Move) -> PolicyVerdict:
    return decide(tiers, one).verdict


def test_a_script_and_a_block_of_code_are_code_wherever_they_stand() -> None:
    hidden = b"---\ntitle: x\nrationale: |\n  ```\n  run --it\n  ```\n---\nWords.\n"
    for path, data in (
        ("x.md", f"---\ntitle: x\n---\n{CODE}".encode()),
        ("x.sh", b"echo\n"),
        ("x.md", hidden),
    ):
        assert policies.code_in(path, data)
    assert not policies.code_in("x.md", b"Say `git push`.\n")


@given(st.text(alphabet="`~ \t\n->1.*+)x<preE", max_size=60))
def test_no_block_of_code_is_missed_to_be_quick(text: str) -> None:
    assert bool(policies.code_in("x.md", text.encode())) == bool(
        code_blocks(text)
    ) or text.startswith("---")


class TestWhereThePolicyStands:
    def test_what_is_not_on_the_approval_branch_opens_nothing(self, company: Company) -> None:
        company.state(outbound="block_all")
        root = company.root(ACME)

        def stays_closed() -> None:
            with pytest.raises(Refused):
                decide(company.library(), move())

        company.config(outbound="allow_all")
        stays_closed()
        company.git(root, "add", "-A")
        stays_closed()
        company.git(root, "switch", "-qc", "open")
        company.state(text="approval:\n  branch: open\ngovernance:\n  outbound_policy: allow_all\n")
        stays_closed()
        company.git(root, "checkout", "-q", "--detach")
        stays_closed()

    def test_a_commit_that_only_this_clone_has_can_close_but_not_open(
        self, company: Company
    ) -> None:
        company.state(outbound="require_approval")
        company.git(company.folder, "clone", "-q", "--bare", str(company.root(ACME)), "hub.git")
        company.git(company.root(ACME), "remote", "add", "origin", str(company.folder / "hub.git"))
        company.git(company.root(ACME), "fetch", "-q", "origin")
        company.state(outbound="allow_all")
        assert verdict_of(company.library(), move()) is PolicyVerdict.NEEDS_RELEASE
        assert "on origin/main at" in decide(company.library(), move()).sentence
        company.state(outbound="block_all")
        with pytest.raises(Refused, match=r"on main at"):
            decide(company.library(), move())
        company.state(outbound="allow_all")
        company.git(company.root(ACME), "push", "-q", "origin", "main")
        assert verdict_of(company.library(), move()) is PolicyVerdict.AS_IS

    def test_what_means_nothing_is_the_strictest(self, company: Company) -> None:
        company.state(outbound="allow", context="allow")
        at = governed(company.library(), ACME)
        assert [value.value for value in at.values] == ["block_all", "allow", "allow_non_code"]
        assert (
            at.values[0].note == "governance.outbound_policy cannot be 'allow', so block_all holds"
        )
        with pytest.raises(
            Refused,
            match=r"is block_all \(governance.outbound_policy cannot be 'allow', so block_all",
        ):
            decide(company.library(), move())

    @pytest.mark.parametrize(
        "text",
        [
            "governance: [\n", "governance: allow_all\n", "a: 1\na: 2\n", "\udcff",
            "format: 99\ngovernance:\n  outbound_policy: allow_all\n",
        ],
    )  # fmt: skip
    def test_a_file_that_cannot_be_read_closes_everything(
        self, company: Company, text: str
    ) -> None:
        (company.root(ACME) / ".ai-lessons").mkdir()
        (company.root(ACME) / ".ai-lessons/config.yaml").write_bytes(
            text.encode("utf-8", "surrogateescape")
        )
        company.commit(ACME)
        for way in ((ACME, BETA), ("project", BETA)):
            with pytest.raises(Refused, match="so the strictest"):
                decide(company.library(here=ACME), move(*way))

    def test_settings_of_another_sort_that_mean_nothing_change_no_policy(
        self, company: Company
    ) -> None:
        company.state(
            text="search: nonsense\nevents: perhaps\ngovernance:\n  outbound_policy: allow_all\n"
        )
        assert verdict_of(company.library(), move()) is PolicyVerdict.AS_IS

    def test_a_clone_without_the_blob_of_a_policy_is_strict_and_fetches_nothing(
        self, company: Company
    ) -> None:
        company.state(outbound="allow_all")
        root, hub = company.root(ACME), company.folder / "hub.git"
        company.git(company.folder, "clone", "-q", "--bare", str(root), str(hub))
        company.git(hub, "config", "uploadpack.allowFilter", "true")
        root.rename(company.folder / "old")
        company.git(
            company.folder,
            "clone",
            "-q",
            "--filter=blob:none",
            "--no-checkout",
            hub.as_uri(),
            str(root),
        )
        with pytest.raises(Refused, match="cannot be read, so the strictest hold"):
            decide(company.library(), move())
        company.git(root, "fetch", "-q", "--refetch", "--no-filter")
        assert verdict_of(company.library(), move()) is PolicyVerdict.AS_IS

    def test_an_enterprise_that_is_not_here_has_the_safe_defaults(self, company: Company) -> None:
        gone = "enterprise:gone"
        tiers = company.library(here=gone)
        at = governed(tiers, gone)
        note = f"the repository of {gone} is not on this machine, so the defaults hold"
        assert [(value.value, value.note) for value in at.values] == [
            (row[1], note) for row in VALUES.values()
        ]
        assert verdict_of(tiers, move("project", BETA)) is PolicyVerdict.NEEDS_RELEASE
        mine = editing.add_lesson(company.library(here=gone), LessonDraft("x", "Words.\n"))
        with pytest.raises(NotFound):
            promotion.promote(company.library(here=gone), mine.id, BETA)
        with pytest.raises(Refused, match="not on this machine"):
            editing.add_lesson(company.library(here=gone, writes="user"), LessonDraft("x", CODE))


class TestReleases:
    """What a person of the enterprise lets go: one text to one tier, said in the entry on its approval branch."""

    @pytest.fixture
    def theirs(self, company: Company) -> str:
        return editing.add_lesson(
            company.library(writes=ACME), LessonDraft("PUT replaces all", "Plain words.\n")
        ).id

    def go(self, company: Company, ref: str, to: str = "user", **how: Any) -> Promoted:
        return promotion.promote(company.library(here=ACME, **how), ref, to, PromotionRequest())

    def outcome(self, company: Company, ref: str, to: str = "user") -> str:
        return self.go(company, ref, to).outcome

    def ask(self, company: Company, ref: str, to: str = "user", **how: Any) -> Suggested:
        done = self.go(company, ref, to, **how)
        assert (done.outcome, done.decided_in) == ("asked", ACME)
        assert done.proposal is not None
        return done.proposal

    def file(self, company: Company, ref: str) -> Path:
        return next(one for one in company.root(ACME).rglob("*.md") if ref in one.read_text())

    def test_a_person_lets_exactly_one_text_go(self, company: Company, theirs: str) -> None:
        asked = self.ask(company, theirs)
        assert self.outcome(company, theirs) == "asked"
        company.approve(asked.branch)
        assert self.outcome(company, theirs, BETA) == "asked"
        done = self.go(company, theirs)
        assert done.outcome == "copied"
        assert done.policy.endswith("; a person released this text")
        assert done.copy is not None
        assert "release_to" not in (company.root("user") / done.copy.path).read_text()
        editing.update(company.library(here=ACME, writes=ACME), theirs, content="Other words.")
        assert self.outcome(company, theirs) == "asked"

    def test_the_proposal_shows_the_text_and_why_it_is_asked_for(
        self, company: Company, theirs: str
    ) -> None:
        asked = self.ask(company, theirs)
        (waiting,) = pending_rules.pending_rules(company.library(writes=ACME))
        assert (waiting.kind, waiting.change, waiting.title) == (
            "lesson",
            "edit",
            "PUT replaces all",
        )
        assert "+release_to:" in waiting.diff
        message = company.git(company.root(ACME), "log", "-1", "--format=%B", asked.branch)
        assert message.startswith("Release to user: PUT replaces all\n")
        assert (
            f"Test Person <person@example.com> asks to let lesson {theirs} go from {ACME} to user"
            in message
        )
        assert "governance.outbound_policy is require_approval (the default, " in message
        assert str(company.root(ACME)) not in message

    def test_a_word_that_is_not_on_the_approval_branch_releases_nothing(
        self, company: Company, theirs: str
    ) -> None:
        root, asked = company.root(ACME), self.ask(company, theirs)
        file = self.file(company, theirs)
        file.write_text(company.git(root, "show", f"{asked.branch}:{asked.path}") + "\n")
        assert self.outcome(company, theirs) == "asked"
        company.git(root, "switch", "-qc", "side")
        company.commit(ACME)
        assert self.outcome(company, theirs) == "asked"

    def test_a_text_that_was_exchanged_is_not_released(self, company: Company, theirs: str) -> None:
        root, asked = company.root(ACME), self.ask(company, theirs)
        company.git(root, "switch", "-q", asked.branch)
        file = root / asked.path
        file.write_text(file.read_text().replace("Plain words.", "Secret plans."))
        company.commit(ACME)
        company.git(root, "switch", "-q", "main")
        company.git(root, "merge", "-q", "--no-ff", asked.branch)
        assert self.outcome(company, theirs) == "asked"

    def test_where_origin_is_known_its_branch_has_to_say_so_too(
        self, company: Company, theirs: str
    ) -> None:
        root = company.root(ACME)
        company.git(company.folder, "clone", "-q", "--bare", str(root), "hub.git")
        company.git(root, "remote", "add", "origin", str(company.folder / "hub.git"))
        company.git(root, "fetch", "-q", "origin")
        company.approve(self.ask(company, theirs).branch)
        assert self.outcome(company, theirs) == "asked"
        company.git(root, "push", "-q", "origin", "main")
        assert self.outcome(company, theirs) == "copied"

    def test_an_agent_does_not_write_the_word_with_a_command(
        self, company: Company, theirs: str
    ) -> None:
        asked = self.ask(company, theirs, agent="some agent")
        text = company.git(company.root(ACME), "show", f"{asked.branch}:{asked.path}") + "\n"
        with pytest.raises(Refused, match="release_to"):
            editing.edit(
                company.library(here=ACME, writes=ACME, agent="some agent"),
                theirs,
                lambda _, __: text,
            )

    def test_from_a_project_the_enterprise_of_the_project_takes_a_copy_and_lets_it_go(
        self, company: Company
    ) -> None:
        draft = DRAFT(Kind.SCRIPT, [str(put_file(company.folder / "x.sh", "#!/bin/sh\necho\n"))])
        (mine,) = ADD(company.library(here=ACME), draft).written
        company.approve(self.ask(company, mine.id).branch)
        done = self.go(company, mine.id)
        assert (done.outcome, done.copy is not None) == ("copied", True)
        again = self.ask(company, mine.id, BETA)
        assert "+  - enterprise:beta:" in company.git(
            company.root(ACME), "diff", f"main...{again.branch}"
        )

    def test_a_secret_is_not_put_into_the_proposal(self, company: Company) -> None:
        file = company.root("project") / "global/lessons/one.md"
        file.write_text(lesson(body="token: ghp_" + "a1B2c3D4e5F6" * 3 + "\n"))
        with pytest.raises(InvalidEntry):
            self.go(company, "L-8F3K2A")
        assert pending_rules.pending_rules(company.library(writes=ACME)) == ()


class TestTheUsersRepositoryMeanwhile:
    def test_words_may_be_written_and_code_may_not(self, company: Company) -> None:
        library = company.library(here=ACME, writes="user")
        made = editing.add_lesson(library, LessonDraft("Words", "Say `git push`.\n"))
        with pytest.raises(Refused) as refused:
            editing.add_lesson(library, LessonDraft("Code", CODE))
        assert (
            "no code is written to the user's repository while a project of enterprise:acme"
            in refused.value.message
        )
        assert (
            "governance.personal_learning_during_enterprise is allow_non_code (the default, "
            in (refused.value.message)
        )
        assert (
            refused.value.hint == "write it to the project: --tier project, or leave the code out"
        )
        with pytest.raises(Refused):
            editing.edit(library, made.handle, lambda text, _: text + CODE)
        script = put_file(company.folder / "x.sh", "#!/bin/sh\necho\n")
        with pytest.raises(Refused):
            ADD(library, DRAFT(Kind.SCRIPT, [str(script)]))
        editing.update(library, made.handle, title="Other words")
        editing.delete(library, [made.handle])

    def test_nothing_may_be_written_where_the_enterprise_blocks_it(self, company: Company) -> None:
        file = company.root("user") / "global/lessons/one.md"
        file.write_text(lesson())
        company.commit("user")
        company.state(personal="block")
        library = company.library(here=ACME, writes="user")
        for job in (
            lambda: editing.add_lesson(library, LessonDraft("Words", "Plain.\n")),
            lambda: editing.update(library, "L-8F3K2A", title="Else"),
            lambda: proposals.suggest_rule(library, RuleDraft("Do it", "because")),
        ):
            with pytest.raises(Refused, match="nothing is written to the user's repository"):
                job()
        assert entries.list_entries(library).entries
        editing.delete(library, ["L-8F3K2A"])
        assert not file.exists()

    def test_code_that_is_there_already_may_stay(self, company: Company) -> None:
        outside = editing.add_lesson(company.library(writes="user"), LessonDraft("Code", CODE))
        library = company.library(here=ACME, writes="user")
        editing.update(library, outside.handle, add_tags=["git"], project="shop")
        with pytest.raises(Refused):
            editing.edit(
                library, outside.handle, lambda text, _: text.replace("run --it", "run --else")
            )

    def test_it_is_asked_by_whatever_name_the_repository_is_opened(self, company: Company) -> None:
        company.state(personal="block")
        known = (TierPlace("user", company.root("user")), TierPlace(ACME, company.root(ACME)))
        places = Places((TierPlace("project", company.root("user")),), known, ACME)
        library = company.opened("user", tier="project", places=places)
        with pytest.raises(Refused):
            editing.add_lesson(library, LessonDraft("Words", "Plain.\n"))


class TestPromotions:
    """All of it together: what a person asks for with `contribute promote`."""

    def add(self, company: Company, title: str, content: str = CODE, **how: Any) -> str:
        return editing.add_lesson(company.library(**how), LessonDraft(title, content)).handle

    def promote(
        self, company: Company, ref: str, to: str = "user", here: str = ACME, **wanted: Any
    ) -> Promoted:
        return promotion.promote(company.library(here=here), ref, to, PromotionRequest(**wanted))

    def test_what_belongs_to_one_place_does_not_leave_where_only_what_is_general_may(
        self, company: Company
    ) -> None:
        company.state(outbound="allow_generic")
        bound = self.add(company, "Retry on 409", "See /home/ada/notes of acme.\n", writes=ACME)
        with pytest.raises(
            Refused, match=r"path of one machine \(/home/ada/notes\), name of a project \(acme\)"
        ):
            self.promote(company, bound)
        assert (
            self.promote(
                company, self.add(company, "Retry on 410", "Words.\n", writes=ACME)
            ).outcome
            == "copied"
        )

    def test_a_released_rule_is_proposed_to_the_user_with_its_code(self, company: Company) -> None:
        made = proposals.suggest_rule(
            company.library(writes=ACME), RuleDraft("Retry", "it helps", content=CODE)
        )
        company.approve(made.branch)
        asked = self.promote(company, made.id)
        assert asked.proposal is not None
        company.approve(asked.proposal.branch)
        done = self.promote(company, made.id)
        assert done.outcome == "proposed"
        assert done.proposal is not None
        assert "run --it" in company.git(company.root("user"), "show", done.proposal.branch)
