"""What the tests of names over HTTP share: settings of a gateway, its secret, and what it sends."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from interfaces.world import Run
from real_world import put_file

SECRET = "0123456789abcdef-of-the-gateway"
NAME, EMAIL, OURS = "X-Forwarded-User", "X-Forwarded-Email", "X-Gateway-Secret"
SETTINGS = f'name_header = "{NAME}"\nemail_header = "{EMAIL}"\n'


# A request that stands alone, of the revision 2026-07-28
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
ALONE = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": _META}}
).encode()
FOR_ALONE = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}


class Person(NamedTuple):
    name: str
    email: str

    @property
    def author(self) -> str:
        return f"{self.name} <{self.email}>"

    def sent(self, **more: str) -> dict[str, str]:
        """The headers of the gateway for this person."""
        return {OURS: SECRET, NAME: self.name, EMAIL: self.email, **more}


ANN, BO = Person("Ann Example", "ann@acme.example"), Person("Bo Müller", "bo@acme.example")


def as_bytes(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as a server gives them on."""
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def config_file() -> Path:
    return Path.home() / ".config/ai-lessons/config.toml"


def write_settings(more: str = "", *, secret: str = SECRET, above: str = "") -> Path:
    """A `config.toml` with a gateway that sends a secret; the file of the secret."""
    file = put_file(config_file().parent / "gateway-secret", secret + "\n")
    file.chmod(0o600)
    put_file(config_file(), f'{above}[gateway]\n{SETTINGS}secret_file = "{file}"\n{more}')
    return file


def new_repository(run: Run, folder: Path) -> Path:
    """A repository of its own, as `admin init` makes it."""
    done = run("admin", "init", folder)
    assert done.code == 0, done.err
    return folder
