"""Asks the model of the client that calls, where the client lets servers do so: its user may see it, or say no.

The newest protocol advises against it (SEP-2577) and the SDK warns of its helper, so the request is made without that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types import (
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingCapability,
    SamplingMessage,
    TextContent,
)

from ai_lessons.errors import Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.mcpserver import Context

PATIENCE = 120.0
"""Seconds that the client's model, and a person who is asked first, get."""

LONGEST = 1500
"""Tokens of an answer."""


def model_of(ctx: Context[Any, Any]) -> Callable[[str], str] | None:
    """What asks the client's model, from the thread of a call; None for a client that lets nobody ask it.

    It raises Unreachable where there is no answer: the user said no, or it took too long.
    """
    session = ctx.session
    wanted = ClientCapabilities(sampling=SamplingCapability())
    if not session.can_send_request or not session.check_client_capability(wanted):
        return None

    async def ask(question: str) -> str:
        message = SamplingMessage(role="user", content=TextContent(type="text", text=question))
        params = CreateMessageRequestParams(messages=[message], max_tokens=LONGEST)
        about = ServerMessageMetadata(related_request_id=ctx.request_id)
        with anyio.fail_after(PATIENCE):
            done = await session.send_request(CreateMessageRequest(params=params), CreateMessageResult, metadata=about)
        return done.content.text if isinstance(done.content, TextContent) else ""

    def asked(question: str) -> str:
        try:
            return anyio.from_thread.run(ask, question)
        except TimeoutError as error:
            raise Unreachable(f"the client's model gave no answer within {PATIENCE:.0f} seconds") from error
        except (MCPError, ValueError) as error:  # it said no, or what it said is no answer
            raise Unreachable("the client gave no answer of its model") from error

    return asked
