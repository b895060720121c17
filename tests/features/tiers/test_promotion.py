"""Promotion between the tiers of one person who works for a company: what arrives, what is asked, what is refused."""

from pathlib import Path
from typing import Any

import pytest

from ai_lessons import extensions
from ai_lessons.app import (
    editing,
    entries,
    proposals,
    review,
)
from ai_lessons.app.written import LessonDraft, RuleDraft, Written
from ai_lessons.errors import InvalidEntry, NoRepository, NotFound, Refused
from ai_lessons.features.learning import jobs as learning_jobs
from ai_lessons.features.tiers import promotion
from ai_lessons.features.tiers.promotion import Promoted, PromotionRequest, promote
from ai_lessons.model import TierPlace, markdown
from ai_lessons.model.entries import Kind
from ai_lessons.model.events import HELPFUL
from ai_lessons.model.tallies import UsageTally
from app.world import ACME, BETA, LESSON, Company, usage_of
from real_world import put_file, put_program

# of another feature, which may be taken out
ADD = extensions.load("ai_lessons.features.intake.jobs:add_resources")
DRAFT = extensions.load("ai_lessons.features.intake.plan:ResourceDraft")
REFRESH = extensions.load("ai_lessons.features.intake.refreshing:refresh")

BODY = "Seen twice with version 9.12 of the server, in /home/lena/shop, by GET and PUT of one workflow.\n"
KEY = "AKIA" + "Q7ZJ4R2MXP5KTN3W"


def add(
    company: Company, tier: str = "project", title: str = "PUT replaces all", **more: Any
) -> str:
    with company.library(writes=tier) as library:
        more = {"content": BODY, "source": "tested", "confidence": "high", **more}
        return editing.add_lesson(library, LessonDraft(title, **more)).id


def go(
    company: Company, ref: str, to: str, *, here: str = "", writes: str = "project", **how: Any
) -> Promoted:
    with company.library(here=here, writes=writes) as library:
        return promotion.promote(library, ref, to, PromotionRequest(**how))


def text_at(company: Company, tier: str, path: str) -> str:
    return (company.root(tier) / path).read_text()


def copied(company: Company, ref: str, to: str = "user") -> Written:
    """The copy of an entry that may go there at once."""
    done = go(company, ref, to)
    assert done.outcome == "copied"
    assert done.copy is not None
    return done.copy


def fields_of(company: Company, copy: Written) -> dict[str, Any]:
    return markdown.parse(text_at(company, "user", copy.path)).fields


def standing(company: Company, tier: str, ref: str) -> UsageTally:
    with company.library(writes=tier) as library:
        return usage_of(library, ref)


class TestACopy:
    def test_it_arrives_at_once_under_an_id_of_its_own_and_says_where_it_comes_from(
        self, company: Company
    ) -> None:
        lesson = add(company, tags=("jira",))
        done = go(company, lesson, "user", reason="holds\neverywhere")
        assert (done.outcome, done.from_, done.to) == ("copied", "project", "user")
        assert done.copy is not None
        said = fields_of(company, done.copy)
        assert said["id"] != lesson
        assert said["source"] == {
            "type": "promoted", "how": "tested", "from_scope": "project:project", "original": lesson, "tier": "project",
        }  # fmt: skip
        assert said["links"] == [{"derived_from": lesson}]
        assert (said["title"], said["tags"], said["confidence"]) == (
            "PUT replaces all",
            ["jira"],
            "high",
        )
        message = company.git(company.root("user"), "log", "-1", "--format=%B")
        assert message.startswith("Promote lesson: PUT replaces all\n")
        assert f"Promoted-from: project {lesson}" in message
        assert "Reason: holds everywhere" in message

    def test_doing_it_again_says_so_and_makes_nothing(self, company: Company) -> None:
        lesson = add(company)
        first = copied(company, lesson)
        before = company.git(company.root("user"), "rev-parse", "HEAD")
        again = go(company, lesson, "user")
        assert (again.outcome, again.copy) == ("present", None)
        assert again.notes == (f"{first.handle} PUT replaces all (user) says the same already",)
        assert company.git(company.root("user"), "rev-parse", "HEAD") == before
        assert go(company, first.id, "project").outcome == "present"

    def test_a_copy_of_an_older_text_is_named_and_the_new_one_comes(self, company: Company) -> None:
        lesson = add(company)
        go(company, lesson, "user")
        with company.library() as library:
            editing.update(library, lesson, content="Seen three times by now, with version 9.13.\n")
        again = go(company, lesson, "user")
        assert again.outcome == "copied"
        assert again.evaluation.findings[0].message.startswith("close to L-")

    def test_links_lead_to_what_is_there_and_the_others_stay_behind(self, company: Company) -> None:
        left, goes = add(company, title="Left here"), add(company, title="Goes too")
        lesson = add(company, links=(("related_to", left), ("specializes", goes)))
        there = copied(company, goes).id
        links = fields_of(company, copied(company, lesson))["links"]
        assert links == [{"specializes": there}, {"derived_from": lesson}]

    def test_it_begins_where_its_original_stood_and_counts_nothing_twice(
        self, company: Company
    ) -> None:
        lesson = add(company, confidence="low")
        with company.library() as library:
            for _ in range(8):
                learning_jobs.feedback(library, lesson, HELPFUL)
        copy = copied(company, lesson)
        usage = standing(company, "user", copy.id)
        assert (usage.tallies.helpful, usage.alpha + usage.beta) == (0, 2.0)
        assert 0.3 < usage.confidence < standing(company, "project", lesson).confidence
        further = go(company, copy.id, BETA, writes="user").proposal
        assert further is not None
        start = markdown.parse(
            company.git(company.root(BETA), "show", f"{further.branch}:{further.path}")
        )
        assert float(start.fields["source"]["alpha"]) / 2 == pytest.approx(
            usage.confidence, abs=1e-5
        )
        nobody_judged = fields_of(company, copied(company, add(company, title="Retry on 409")))
        assert "alpha" not in nobody_judged["source"], "it begins with the word of its author"

    def test_what_was_said_of_the_original_alone_stays_behind(self, company: Company) -> None:
        lesson = add(company)
        with company.library() as library:
            file = company.root("project") / entries.show(library, lesson).entry.path
        more = "status: promoted\npromoted_to: skill/x\nscope: project:/home/ada/shop"
        file.write_text(file.read_text().replace("status: active", more))
        said = fields_of(company, copied(company, lesson))
        assert (said["status"], said["source"]["from_scope"]) == (
            "active",
            "project:/home/ada/shop",
        )
        assert not {"promoted_to", "scope"} & said.keys()

    def test_a_script_takes_its_side_file_along_and_can_be_run(
        self, company: Company, tmp_path: Path
    ) -> None:
        for place in (False, True):
            script = put_program(
                tmp_path / f"update-{place}.sh", "#!/bin/sh\n# Brings a workflow back.\necho done\n"
            )
            with company.library() as library:
                draft = DRAFT(
                    Kind.SCRIPT, [str(script)], f"Update {place}", project="jira", in_place=place
                )
                made = ADD(library, draft).written[0]
            file = company.root("user") / copied(company, made.id).path
            assert file.read_text() == script.read_text()
            said = markdown.parse(file.with_name(file.name + ".md").read_text()).fields
            assert said.keys() >= {"source", "links"}
            assert "path" not in said
            assert file.stat().st_mode & 0o100

    def test_a_path_that_somebody_else_wrote_brings_no_file_along(
        self, company: Company, tmp_path: Path
    ) -> None:
        (tmp_path / "private").write_text("mine alone")
        put_file(
            company.root("project") / "jira/scripts/v1/x.sh.md",
            f"---\nid: {LESSON}\nkind: script\ntitle: X\npath: {tmp_path}/private\n---\n",
        )
        company.commit("project")
        with pytest.raises(Refused, match="outside its repository"):
            go(company, LESSON, "user")

    def test_a_doc_keeps_its_versions_and_where_it_was_copied_from(
        self, company: Company, tmp_path: Path
    ) -> None:
        doc = tmp_path / "api.md"
        doc.write_text(f"# API\n\n{BODY * 3}")
        with company.library() as library:
            draft = DRAFT(Kind.DOC, [str(doc)], versions=["v3"], project="jira")
            made = ADD(library, draft).written[0]
        copy = copied(company, made.id)
        assert copy.path == "jira/docs/v3/api.md"
        said = fields_of(company, copy)
        assert (said["versions"], said["source_path"]) == (["v3"], str(doc))
        doc.write_text(doc.read_text() + "More.\n")
        with company.library() as library:
            REFRESH(library, [made.id])
        again = copied(company, made.id)
        assert again.path == f"jira/docs/v3/api-{again.id[-6:].lower()}.md"

    @pytest.mark.parametrize("name", ["notes.txt", "plain.md"])
    def test_a_plain_file_says_over_there_where_it_comes_from(
        self, company: Company, name: str
    ) -> None:
        put_file(company.root("project") / "jira/docs" / name, f"Notes\n=====\n\n{BODY}")
        company.commit("project")
        copy = copied(company, f"jira/docs/{name}")
        assert text_at(company, "user", copy.path).endswith(f"Notes\n=====\n\n{BODY}")
        source = fields_of(company, copy)["source"]
        assert source["tier"] == "project"
        assert go(company, source["original"], "user").outcome == "present"


def test_a_rule_becomes_a_proposal_wherever_it_goes(company: Company) -> None:
    with company.library() as library:
        made = proposals.suggest_rule(
            library, RuleDraft("GET before PUT", "PUT replaces all of it.")
        )
        review.approve_rule(library, made.id)
    done = go(company, made.id, "user")
    assert (done.outcome, done.copy) == ("proposed", None)
    assert done.proposal is not None
    assert done.proposal.branch.startswith("rules/R-")
    with company.library(writes="user") as library:
        with pytest.raises(NotFound):
            entries.show(library, done.proposal.id)
        review.approve_rule(library, done.proposal.branch)
        assert entries.show(library, done.proposal.id).frontmatter["source"]["original"] == made.id
    assert go(company, made.id, "user").outcome == "present"


def test_the_same_is_not_proposed_to_an_enterprise_twice_nor_once_it_is_there(
    company: Company,
) -> None:
    lesson = add(company)
    first = go(company, lesson, ACME)
    assert first.proposal is not None
    again = go(company, lesson, ACME)
    said = f"{first.proposal.branch} ({ACME}) proposes the same already"
    assert (again.outcome, again.notes) == ("present", (said,))
    company.approve(first.proposal.branch)
    assert go(company, lesson, ACME).outcome == "present"


def test_what_we_wrote_of_its_origin_is_not_held_against_it(company: Company) -> None:
    done = go(company, add(company, content="Nothing special here, because it is plain.\n"), ACME)
    assert "specificity" not in [one.check for one in done.evaluation.findings]


def test_a_secret_is_refused_unless_somebody_says_why_it_may_stay(company: Company) -> None:
    put_file(
        company.root("project") / "jira/lessons/a.md",
        f"---\nid: {LESSON}\nkind: lesson\ntitle: A\n---\n{KEY}\n",
    )
    company.commit("project")
    for to in ("user", ACME):
        with pytest.raises(InvalidEntry, match="AWS") as refused:
            go(company, LESSON, to)
        mark = str(refused.value).partition("allow_secrets: [")[2].partition(":")[0]
        done = go(company, LESSON, to, allow_secrets=[(mark, "of the vendor's sandbox")])
        assert done.outcome in {"copied", "proposed"}
        assert KEY not in str(done.evaluation)


def test_an_enterprise_that_is_not_on_this_machine_is_named_with_the_command_that_fetches_it(
    company: Company,
) -> None:
    lesson = add(company)
    tiers = company.library()
    gone = TierPlace("enterprise:gone", company.folder / "gone", url="https://git.example/gone.git")
    tiers.options = tiers.options._replace(places=tiers.options.places._replace(known=(gone,)))
    with pytest.raises(NoRepository) as missing:
        promote(tiers, lesson, "enterprise:gone", PromotionRequest())
    assert (
        missing.value.hint
        == f"ai-lessons admin init {gone.root} --from https://git.example/gone.git"
    )
    tiers.close()
