"""Databases of LanceDB at a folder, in a bucket, in memory or of its own service.

The first to import lancedb.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ai_lessons.search import defer, unchecked

# lancedb imports a REST client for servers that we do not use: half of what its import costs (0.4 s
# of 0.9)
defer("lance_namespace_urllib3_client")

with unchecked():
    import lancedb

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

# Bytes of the table that are kept in memory at most. 10,000 passages with their full-text index
# take about 12 MB, the index of a million vectors 390 MB, which a smaller cache would read again
# for every question.
INDEX_CACHE, METADATA_CACHE = 512 << 20, 32 << 20

# For object stores: by default they are tried for minutes before a wrong address is an error.
IMPATIENT = {
    "timeout": "20s",
    "connect_timeout": "5s",
    "client_max_retries": "2",
    "client_retry_timeout": "20",
    "download_retry_count": "2",
}


# An index of this process alone
IN_MEMORY = "memory://"

# LanceDB's own service, in its cloud or a company's
SERVICE = "db://"
# What it is reached by. Never by an address in a repository, whose author would be sent the key
KEY, REGION, HOST = "LANCEDB_API_KEY", "LANCEDB_REGION", "LANCEDB_HOST_OVERRIDE"
# As for object stores; it may think longer than a bucket
SERVICE_LIMITS = {
    "retry_config": {"retries": 2, "connect_retries": 2, "read_retries": 1},
    "timeout_config": {"connect_timeout": 5, "read_timeout": 60},
}
# How long it may take to make the index of a new table
SERVICE_PATIENCE = timedelta(hours=1)


def is_service(uri: str) -> bool:
    """Whether the address is of LanceDB's own service."""
    return uri.startswith(SERVICE)


def connect(uri: str) -> tuple[Any, Callable[[str], Awaitable[Any]]]:
    """The database at a folder or address, and a function that opens a table of it for asynchronous questions.

    Raises ValueError: the key of the service is not in the environment.
    """
    # Without an interval of zero an open table never sees what other processes commit.
    options: dict[str, Any] = {"read_consistency_interval": timedelta(0)}
    if is_service(uri):
        options |= _of_service()
    else:
        options["storage_options"] = IMPATIENT if "://" in uri else None
        # Lance would keep up to 7 GB of what it has read; every small commit adds to it.
        options["session"] = lancedb.Session(
            index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=METADATA_CACHE
        )

    database: Any = lancedb.connect(uri, **options)

    async def reopen(name: str) -> Any:
        if uri == IN_MEMORY:
            # what another connection makes there is not ours
            return await database._conn.open_table(name)  # noqa: SLF001  # there is no public way
        return await (await lancedb.connect_async(uri, **options)).open_table(name)

    return database, reopen


def _of_service() -> dict[str, Any]:
    """How the service is reached, by the environment alone. Raises ValueError: without a key."""
    key = os.environ.get(KEY, "")
    if not key:
        raise ValueError(f"{KEY} is not set")
    return {
        "api_key": key,
        "region": os.environ.get(REGION) or "us-east-1",
        "host_override": os.environ.get(HOST) or None,
        "client_config": SERVICE_LIMITS,
    }


def drop(database: Any, uri: str, name: str) -> None:
    """Remove a table, if it is there."""
    if not is_service(uri):
        database.drop_table(name, ignore_missing=True)
    elif name in database.list_tables(limit=10_000).tables:
        database.drop_table(name)
