import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.connectors.manifests import (
    Manifest,
    Use,
    direct,
    in_use,
    names_of_package,
    packages,
)

REQUIREMENTS = """\
# pinned by hand
requests==2.32.3 --hash=sha256:aaaa \\
    --hash=sha256:bbbb
Django>=4.2,<5 ; python_version > "3.8"   # a range
flask[async] ~= 2.0
numpy==1.26.*
-r other.txt
--index-url https://example.com/simple
-e ./here
./wheels/local.whl
tool @ https://example.com/tool.zip
unpinned
not a requirement at all
"""

UV = """\
version = 1
requires-python = ">=3.11,<3.14"

[[package]]
name = "requests"
version = "2.32.3"
source = { registry = "https://example.com/simple" }
dependencies = [
    { name = "certifi" },
]

[package.optional-dependencies]
socks = [
    { name = "pysocks" },
]

[[package]]
name = "shop"
source = { virtual = "." }

[[package]]
version = "1.0"
name = "last"
"""

POETRY = """\
[[package]]
name = "requests"
version = "2.31.0"
description = "Python HTTP for Humans."
python-versions = ">=3.7"
files = [
    {file = "requests-2.31.0.tar.gz", hash = "sha256:aaaa"},
]

[package.dependencies]
certifi = ">=2017.4.17"

[metadata]
lock-version = "2.0"
python-versions = "^3.11"
"""

CARGO = """\
# generated
version = 3

[[package]]
name = "serde"
version = "1.0.203"
dependencies = [
 "serde_derive",
]

[[package]]
name = "syn"
version = "1.0.109"

[[package]]
name = "syn"
version = "2.0.66"
"""

NPM = {
    "lockfileVersion": 3,
    "packages": {
        "": {"name": "shop", "version": "1.0.0"},
        "node_modules/react": {"version": "18.2.0"},
        "node_modules/@angular/core": {"version": "17.0.1"},
        "node_modules/other/node_modules/react": {"version": "16.0.0"},
        "node_modules/linked": {"resolved": "packages/linked", "link": True},
        "node_modules/odd": "18",
        "packages/linked": {"version": "0.1.0"},
    },
}
NPM_1 = {
    "lockfileVersion": 1,
    "dependencies": {"react": {"version": "17.0.2"}, "x": {"version": "file:../x"}, "y": 1},
}

GO = """\
module example.com/shop

go 1.22.3

toolchain go1.23

require github.com/spf13/cobra v1.8.0

require (
\tgithub.com/go-chi/chi/v5 v5.0.12
\tgopkg.in/yaml.v3 v3.0.1 // indirect
\tgithub.com/docker/docker v24.0.7+incompatible
\tgolang.org/x/net v0.0.0-20210101010101-abcdefabcdef
)

replace (
\tgithub.com/spf13/cobra => ../cobra v9.9.9
)
replace github.com/a/b v1.0.0 => github.com/c/d v2.0.0
exclude github.com/e/f v3.0.0
"""


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("app/requirements-dev.txt", REQUIREMENTS,
         [("requests", "@2.32.3"), ("Django", "<5 >=4.2"), ("flask", "~=2.0"), ("numpy", "==1.26.*")]),
        ("uv.lock", UV, [("python", ">=3.11 <3.14"), ("requests", "@2.32.3"), ("last", "@1.0")]),
        ("poetry.lock", POETRY, [("requests", "@2.31.0"), ("python", "^3.11")]),
        ("Cargo.lock", CARGO, [("serde", "@1.0.203"), ("syn", "@1.0.109"), ("syn", "@2.0.66")]),
        ("package-lock.json", json.dumps(NPM), [("react", "@18.2.0"), ("@angular/core", "@17.0.1")]),
        ("package-lock.json", json.dumps(NPM_1), [("react", "@17.0.2")]),
        ("go.mod", GO,
         [("go", "@1.22.3"), ("github.com/spf13/cobra", "@v1.8.0"), ("github.com/go-chi/chi/v5", "@v5.0.12"),
          ("gopkg.in/yaml.v3", "@v3.0.1"), ("github.com/docker/docker", "@v24.0.7")]),
        ("README.md", "requests==1.0", []),
    ],
)  # fmt: skip
def test_what_a_file_says(path: str, text: str, found: list[tuple[str, str]]) -> None:
    assert packages(path, text) == found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("package-lock.json", "[" * 100_000), ("package-lock.json", '{"packages": ' * 50_000),
        ("package-lock.json", "[1, 2]"), ("package-lock.json", '{"packages": [1]}'),
        ("package-lock.json", '{"packages": {"node_modules/a": {"version": ["1"]}}}'),
        ("package-lock.json", "1" * 100_000), ("package-lock.json", "\ufeff{}"), ("requirements.txt", "(" * 100_000),
        ("requirements.txt", "a;" + "(" * 700), ("requirements.txt", "\\\n" * 100_000),
        ("requirements.txt", "a==" + "1" * 100_000), ("uv.lock", '[[package]]\nname = "a"\n' + "[" * 100_000),
        ("Cargo.lock", '[[package]]\nname = "a"\nversion = "' + "1" * 100_000 + '"\n'),
        ("go.mod", "require " + "a" * 100_000), ("go.mod", "require (\n" + "a.b/" * 50_000 + "\n"),
    ],
)  # fmt: skip
def test_broken_huge_and_hostile_files_say_nothing(path: str, text: str) -> None:
    assert packages(path, text) == []


@given(st.sampled_from([REQUIREMENTS, UV, POETRY, CARGO, GO, json.dumps(NPM)]), st.data())
def test_a_file_that_was_cut_or_mangled_breaks_no_reader(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    mangled = (
        text[:at] + data.draw(st.text(max_size=5)) + text[data.draw(st.integers(at, len(text))) :]
    )
    for path in ("uv.lock", "go.mod", "requirements.txt", "package-lock.json"):
        assert all(len(part) <= 200 for found in packages(path, mangled) for part in found)


@pytest.mark.parametrize(
    ("package", "names"),
    [
        ("Zope.Interface", {"zope-interface"}),
        ("github.com/go-chi/chi/v5", {"github-com/go-chi/chi/v5", "chi", "go-chi-chi"}),
        ("gopkg.in/yaml.v3", {"gopkg-in/yaml-v3", "yaml", "gopkg-in-yaml"}),
        ("org.slf4j:slf4j-api", {"org-slf4j:slf4j-api", "slf4j-api", "org-slf4j-slf4j-api"}),
        ("@angular/core", {"@angular/core", "angular-core"}), ("", set()), ("/", {"/"}),
    ],
)  # fmt: skip
def test_names_under_which_a_package_is_known(package: str, names: set[str]) -> None:
    assert names_of_package(package) == names


def uses(
    manifests: list[Manifest], *projects: str, **aliases: str
) -> dict[str, list[tuple[str, str]]]:
    found = in_use(manifests, projects, aliases)
    return {project: [(use.version, use.path) for use in some] for project, some in found.items()}


def test_a_project_has_the_versions_of_the_package_of_its_name() -> None:
    files = [Manifest("uv.lock", UV), Manifest("web/package-lock.json", json.dumps(NPM))]
    assert uses(files, "requests", "React", "angular-core", "nowhere") == {
        "React": [("@18.2.0", "web/package-lock.json")],
        "angular-core": [("@17.0.1", "web/package-lock.json")],
        "requests": [("@2.32.3", "uv.lock")],
    }
    assert in_use(files, ["requests"])["requests"] == (Use("requests", "@2.32.3", "uv.lock"),)


def test_other_names_lead_to_a_package() -> None:
    files = [Manifest("requirements.txt", "scikit-learn==1.5.0\nvue==3.0\nredis==5.0")]
    assert uses(files, "sklearn", sklearn="scikit-learn") == {
        "sklearn": [("@1.5.0", "requirements.txt")]
    }
    assert uses(files, "machine learning", scikit_learn="machine-learning").keys() == {
        "machine learning"
    }
    assert uses(files, "vue.js", "redis-py", "python-redis").keys() == {
        "vue.js",
        "redis-py",
        "python-redis",
    }


def test_the_nearest_files_decide_and_a_lock_before_a_manifest() -> None:
    near = Manifest("app/requirements.txt", "a==2.0", 0)
    far = Manifest("uv.lock", '[[package]]\nname="a"\nversion="1"', 1)
    assert uses([far, near], "a") == {"a": [("@2.0", "app/requirements.txt")]}
    assert uses([far, near._replace(distance=2)], "a") == {"a": [("@1", "uv.lock")]}
    here = near._replace(path="requirements.txt", distance=1)
    assert uses([here, far], "a") == {"a": [("@1", "uv.lock")]}


def test_languages_of_one_distance_count_all() -> None:
    files = [
        Manifest("two/requirements.txt", "redis==5.0", 2),
        Manifest(
            "two/package-lock.json", '{"packages": {"node_modules/redis": {"version": "4.6.0"}}}', 2
        ),
        Manifest("Cargo.lock", CARGO, 2),
    ]
    assert [version for version, _ in uses(files, "redis")["redis"]] == ["@4.6.0", "@5.0"]
    assert [version for version, _ in uses(files, "syn")["syn"]] == ["@1.0.109", "@2.0.66"]


PNPM = """lockfileVersion: '9.0'

importers:

  .:
    dependencies:
      '@scope/web':
        specifier: ^1.0.0
        version: 1.4.2(react@18.2.0)
    devDependencies:
      linked:
        specifier: link:../linked
        version: link:../linked
      typescript:
        specifier: ^5
        version: 5.4.5
  other:
    dependencies:
      hidden:
        version: 9.9.9

packages:

  react@18.2.0:
    resolution: {integrity: sha512-x}
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (PNPM, [("@scope/web", "@1.4.2"), ("typescript", "@5.4.5")]),
        (
            "dependencies:\n  react: 18.2.0_x\n  vue:\n    specifier: ^3\n    version: 3.4.0\n",
            [("react", "@18.2.0"), ("vue", "@3.4.0")],
        ),
        ("\x00:\n- : :", []),
    ],
)
def test_what_a_project_of_pnpm_asks_for_itself_is_read(
    text: str, found: list[tuple[str, str]]
) -> None:
    assert packages("pnpm-lock.yaml", text) == found


def test_the_packages_that_a_project_asks_for_are_named_once() -> None:
    project = """
    [project]
    dependencies = ["Click[extra]>=8", "PyYAML ; python_version > '3'"]
    optional-dependencies = { dev = ["ruff@https://x", "click"] }
    [dependency-groups]
    test = ["pytest~=8", { include-group = "dev" }]
    [tool.poetry.dependencies]
    python = "^3.11"
    httpx = "^0.27"
    [tool.poetry.group.docs.dependencies]
    mkdocs = "*"
    """
    assert direct("pyproject.toml", project) == [
        "click",
        "pyyaml",
        "ruff",
        "pytest",
        "httpx",
        "mkdocs",
    ]
    assert direct(
        "package.json", '{"dependencies": {"@a/b": "1"}, "devDependencies": {"c": "2"}}'
    ) == ["@a/b", "c"]
    assert direct("package.json", "[]") == []
    for path in ("pyproject.toml", "package.json"):
        with pytest.raises(ValueError, match=r"line|name"):
            direct(path, "{")
