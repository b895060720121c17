from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.knowledge.evaluation.specifics import Names, Sort, specifics

KNOWN = Names(people=("Ada Lovelace", "lovelace"), projects=("shopfront",), hosts=("acme.io",))


def found(text: str, names: Names = KNOWN) -> list[tuple[str, str]]:
    return [(one.sort.value, one.value) for one in specifics(text, names)]


@pytest.mark.parametrize(
    ("text", "sort", "value"),
    [
        ("write to ada@engine.co.uk, please", Sort.ADDRESS, "ada@engine.co.uk"),
        ("git clone git@git.engine.dev:team/repo.git", Sort.HOST, "git.engine.dev"),
        ("psql -h db.prod.corp", Sort.HOST, "db.prod.corp"),
        ("open http://buildbox:8080/job/3", Sort.HOST, "buildbox"),
        ("http://wiki.intranet/page", Sort.HOST, "wiki.intranet"),
        ("see engine.atlassian.net/browse", Sort.HOST, "engine.atlassian.net"),
        ("curl https://api.acme.io/v1", Sort.HOST, "api.acme.io"),
        ("the node 10.42.7.19 is down", Sort.IP, "10.42.7.19"),
        ("ping6 2a01:4f8:c17:b8f::2", Sort.IP, "2a01:4f8:c17:b8f::2"),
        ("it is in /home/lovelace/work/x.py.", Sort.PATH, "/home/lovelace/work/x.py"),
        (r"C:\Users\ada\notes.txt", Sort.PATH, r"C:\Users\ada\notes.txt"),
        ("file:///Users/ada/x", Sort.PATH, "/Users/ada/x"),
        ("cd ~/work/engine/api", Sort.PATH, "~/work/engine/api"),
        ("/srv/billing/etc/conf", Sort.PATH, "/srv/billing/etc/conf"),
        ("as SHOP-1432 says", Sort.TICKET, "SHOP-1432"),
        ("Ada  Lovelace said so", Sort.PERSON, "Ada  Lovelace"),
        ("Signed-off-by: Charles Babbage <x>", Sort.PERSON, "Charles Babbage"),
        ("we asked Grace Hopper about it", Sort.PERSON, "Grace Hopper"),
        ("thanks to @hopper", Sort.PERSON, "@hopper"),
        ("in Shopfront it fails", Sort.PROJECT, "Shopfront"),
    ],
)
def test_what_is_somebodys_is_found(text: str, sort: Sort, value: str) -> None:
    assert (sort.value, value) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "mail user@example.com, noreply@github.com or git@github.com:a/b.git",
        "npm i left-pad@1.3.0 and getty@tty1.service",
        "http://localhost:8080/x http://web/x http://host1:80/ https://docs.python.org/3/",
        "kubernetes.default.svc.cluster.local, host.docker.internal, settings.local, `user.local`, self.internal",
        "127.0.0.1 0.0.0.0 192.0.2.7 255.255.255.0 8.8.8.8 192.168.1.10 10.0.0.0/8 224.0.0.1",
        "version 4.3.2.14, Chrome/120.0.0.1 and 300.1.2.3",
        "at 12:30:45, std::vector, ::1, 00:1b:44:11:3a:b7",
        "/home/user/x, /Users/you/y, /home/runner/x, /etc/hosts, /usr/bin, ~/.ssh/config, PUT /workflows/home/x",
        "https://site.org/home/ada and $HOME/x and /mnt/c/Windows",
        "UTF-8, SHA-256, ISO-8601, RFC-2616, CVE-2024, GPT-4, HTTP-2, L-8F3K2A, AES-128, x86-64, BSD-3-Clause",
        "asked Claude Code, asked Stack Overflow, by @Component and @types/node, from @babel/core",
        "the shopfronts and ACMEXIO",
    ],
)
def test_what_is_everybodys_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_the_more_telling_sort_wins_where_two_meet() -> None:
    assert found("ada@db.acme.io") == [("address", "ada@db.acme.io")]


def test_short_words_and_the_words_that_we_put_there_are_no_names() -> None:
    assert found("ci HOST PATH project", Names(("ci", "host"), ("path", "Project"))) == []


@given(st.text(max_size=400), st.lists(st.text(max_size=12), max_size=3))
def test_places_are_those_of_the_text_and_never_overlap(text: str, names: list[str]) -> None:
    end = 0
    for one in specifics(text, Names(tuple(names), tuple(names), tuple(names))):
        assert text[one.start : one.end] == one.value
        assert one.value
        assert one.start >= end
        end = one.end
