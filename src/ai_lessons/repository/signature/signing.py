"""Making SSH signatures with the user's own key, through `ssh-keygen -Y sign`: key file, agent or hardware.

The private key never comes near us. Never hangs where nobody can answer: without a terminal there is no prompt and a
time limit; with one, ssh-keygen may ask there for the passphrase and for a touch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Final

from ai_lessons.errors import Refused, StorageFailed
from ai_lessons.repository.running import programs
from ai_lessons.repository.signature.sshsig import BEGIN

if TYPE_CHECKING:
    from collections.abc import Mapping

QUIET_PATIENCE: Final = 20.0
"""Seconds for a signature where nobody is asked: an agent may still want a touch."""

TERMINAL_PATIENCE: Final = 120.0
"""Seconds for a person to type a passphrase or touch a key."""

_LITERAL: Final = "key::"
_KINDS: Final = ("ssh-", "ecdsa-", "sk-")


def sign(message: bytes, key: str, namespace: str, *, interactive: bool = False, timeout: float | None = None) -> str:
    """An armoured signature over `message`.

    `key` is what git's `user.signingkey` may hold: the path of a private key, of a public key whose private half is
    in the agent, or a public key itself (with or without `key::`), then the agent signs. `interactive` lets
    ssh-keygen use the terminal of this process. `timeout` in seconds.

    Raises:
        Refused: no ssh-keygen, no such key, a passphrase that nobody could type, an agent that said no, or no answer
            in time.
        StorageFailed: no room for the temporary files that ssh-keygen wants.
    """
    program = shutil.which("ssh-keygen")
    if program is None:
        raise Refused("signing needs the program ssh-keygen", hint="install OpenSSH 8.2 or newer")
    try:
        with tempfile.TemporaryDirectory(prefix="ai-lessons-sign-") as folder:
            place = os.path.join(folder, "record")
            with open(place, "wb") as file:
                file.write(message)
            arguments = [program, "-q", "-Y", "sign", "-n", namespace, *_key_arguments(key, folder), place]
            patience = timeout or (TERMINAL_PATIENCE if interactive else QUIET_PATIENCE)
            _run(arguments, interactive=interactive, patience=patience)
            with open(place + ".sig", encoding="ascii") as file:
                armoured = file.read()
    except OSError as error:
        raise StorageFailed(f"the signature could not be made: {error.strerror}") from error
    if not armoured.startswith(BEGIN):
        raise Refused("ssh-keygen made something that is not a signature")
    return armoured


def _key_arguments(key: str, folder: str) -> list[str]:
    literal = key.removeprefix(_LITERAL)
    if not (key.startswith(_LITERAL) or literal.startswith(_KINDS)):
        path = os.path.expanduser(key)
        if not os.path.isfile(path):
            raise Refused(f"there is no key at {path}", hint="git config --global user.signingkey ~/.ssh/id_ed25519")
        return ["-f", path]
    public = os.path.join(folder, "key.pub")
    with open(public, "w", encoding="utf-8") as file:
        file.write(literal + "\n")
    return ["-U", "-f", public]


def _run(arguments: list[str], *, interactive: bool, patience: float) -> None:
    environment = dict(os.environ) | {"LC_ALL": "C"}
    try:
        if interactive:
            code, complaint = _at_the_terminal(arguments, environment, patience)
        else:
            # a window that pops up for a background process is not an answer
            done = programs.run(arguments, env=environment | {"SSH_ASKPASS_REQUIRE": "never"}, timeout=patience)
            code, complaint = done.returncode, done.stderr
    except subprocess.TimeoutExpired as error:
        raise Refused(
            f"nobody answered for the signing key within {patience:.0f} seconds",
            hint="touch the key when it blinks, or load it with ssh-add",
        ) from error
    if code:
        words = complaint.decode(errors="replace").strip().splitlines()
        raise Refused(
            f"ssh-keygen made no signature: {words[-1] if words else 'it gave no reason'}",
            hint="a key with a passphrase needs a terminal, or ssh-add first",
        )


def _at_the_terminal(arguments: list[str], environment: Mapping[str, str], patience: float) -> tuple[int, bytes]:
    """Exit code and complaint. It stays in our group, so that Ctrl-C and Ctrl-Z reach both."""
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            _, complaint = process.communicate(timeout=patience)
        except BaseException:
            process.kill()
            raise
    return process.returncode, complaint
