"""Rules in force and firm lessons as skills that a client may read (an extension of MCP)."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server.caching import CacheHint
from mcp.server.extension import Extension, MethodBinding
from mcp.shared.exceptions import MCPError
from mcp_types import PaginatedRequestParams, RequestParams

from ai_lessons import extensions
from ai_lessons.model import markdown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.app.workspace import Library
    from ai_lessons.interfaces.mcp.sessions import SessionPool

    Data = dict[str, Any]

# As the list of resources: a merge changes what is in force
SPARE = CacheHint(10_000)


class GetSkill(RequestParams):
    """Which skill is meant: the address of its SKILL.md."""

    uri: str


class Skills(Extension):
    """Rules in force and firm lessons as one skill a project (extension `io.modelcontextprotocol/skills`).

    Each file has its digest; of a rule the file is the one that was approved, byte by byte.
    https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
    """

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool

    def methods(self) -> Sequence[MethodBinding]:
        """`skills/list` and `skills/get`."""
        return (
            MethodBinding("skills/list", PaginatedRequestParams, self._list),
            MethodBinding("skills/get", GetSkill, self._get),
        )

    async def files(self) -> dict[str, dict[str, bytes]]:
        """The files of each skill, as they are now."""
        return await anyio.to_thread.run_sync(self._pool.read, served_skills)

    async def _list(self, _context: Any, _params: Any) -> Data:
        skills = await self.files()
        return _complete(skills=[_skill(name, files) for name, files in skills.items()])

    async def _get(self, _context: Any, params: GetSkill) -> Data:
        named: dict[str, tuple[str, dict[str, bytes]]] = {}
        for name, files in (await self.files()).items():
            named[_skill_uri(name, "SKILL.md")] = (name, files)
        if params.uri not in named:
            # the code of JSON-RPC for invalid parameters
            raise MCPError(code=-32602, message=f"no skill is at {params.uri}")
        return _complete(skill=_skill(*named[params.uri]))


def served_skills(library: Library) -> dict[str, dict[str, bytes]]:
    """The files of each skill by its name, SKILL.md first.

    `skills` of a feature takes the library.
    """
    skills: dict[str, dict[str, bytes]] = {}
    for _, skills_of in extensions.added("skills"):
        skills |= skills_of(library)
    return skills


def _complete(**result: Any) -> Data:
    return {"resultType": "complete", **result, "ttlMs": SPARE.ttl_ms, "cacheScope": SPARE.scope}


def _skill_uri(name: str, path: str) -> str:
    return f"skill://{name}/{path}"


def _skill(name: str, files: Mapping[str, bytes]) -> Data:
    """A skill's entry: its head as it stands in SKILL.md, and every file with digest and size."""
    listed: list[Data] = []
    for path, data in files.items():
        uri, digest = _skill_uri(name, path), f"sha256:{sha256(data).hexdigest()}"
        listed.append({"uri": uri, "digest": digest, "size": len(data)})
    head = markdown.parse(files["SKILL.md"].decode()).fields
    return {"uri": _skill_uri(name, "SKILL.md"), "frontmatter": head, "resources": listed}
