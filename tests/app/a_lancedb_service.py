"""LanceDB's service over REST on loopback, as far as its own client asks: each request is done on a folder of LanceDB.

Played by what the client of lancedb 0.40 sends and reads; the real service was not there to compare with.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import lancedb
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no stubs
from lancedb.index import FTS, IvfSq
from lancedb.query import BooleanQuery, MatchQuery, Occur

from a_server import listening

KEY = "a-key-of-the-service"
PLAIN = {"string": "string", "int32": "int32", "float": "float", "int64": "int64"}


class Service:
    """Tables in a folder, and what was asked of them."""

    def __init__(self, folder: Path) -> None:
        self.database = lancedb.connect(folder)
        self.asked: list[str] = []
        self.lock = threading.Lock()
        self.address = ""

    def names(self) -> list[str]:
        return list(self.database.list_tables(limit=10_000).tables)

    def answer(self, path: str, query: dict[str, list[str]], body: bytes) -> Any:
        """What is answered: bytes of Arrow, or what JSON holds. Raises KeyError: no such table."""
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if parts[1] == "namespace":
            return {"tables": self.names()}
        name, what = parts[2], parts[3:]
        if what == ["create"]:
            return self._create(name, body)
        if name not in self.names():
            raise KeyError(name)
        table: Any = self.database.open_table(name)
        if what == ["drop"]:
            self.database.drop_table(name)
            return {}
        if what[0] == "index" and what[-1] == "stats":
            return _index_stats(table, what[1])
        does: dict[str, Any] = {
            "describe": _describe, "insert": _insert, "delete": _delete, "count_rows": _count, "query": _query,
            "create_index": _create_index, "stats": lambda table, _: table.stats(),
        }  # fmt: skip
        if what == ["merge_insert"]:
            return _merge(table, query, body)
        if what == ["index", "list"]:
            return {"indexes": [_index(one) for one in table.list_indices()]}
        if what == ["version", "list"]:
            return {"versions": [_version(one) for one in table.list_versions()]}
        return does[what[0]](table, body)

    def _create(self, name: str, body: bytes) -> Any:
        rows = pa.ipc.open_stream(body).read_all()
        self.database.create_table(name, rows)
        return {"version": 1}


def _describe(table: Any, _: bytes) -> Any:
    metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    fields = [_field(field) for field in table.schema]
    stats = {"num_deleted_rows": 0, "num_fragments": 1}
    return {
        "version": table.version,
        "schema": {"fields": fields, "metadata": metadata},
        "stats": stats,
        "location": str(table.uri),
    }


def _field(field: pa.Field) -> dict[str, Any]:
    kind: dict[str, Any] = {"type": str(field.type)}
    if pa.types.is_fixed_size_list(field.type):
        kind = {"type": "fixed_size_list", "length": field.type.list_size}
        kind["fields"] = [_field(field.type.value_field)]
    elif pa.types.is_list(field.type):
        kind = {"type": "list", "fields": [_field(field.type.value_field)]}
    return {"name": field.name, "nullable": field.nullable, "type": kind}


def _insert(table: Any, body: bytes) -> Any:
    table.add(pa.ipc.open_stream(body).read_all(), on_bad_vectors="null")
    return {"version": table.version}


def _delete(table: Any, body: bytes) -> Any:
    table.delete(json.loads(body)["predicate"])
    return {"version": table.version, "num_deleted_rows": 0}


def _count(table: Any, body: bytes) -> Any:
    return table.count_rows(json.loads(body).get("predicate"))


def _merge(table: Any, query: dict[str, list[str]], body: bytes) -> Any:
    merge = table.merge_insert(query["on"][0])
    if query["when_matched_update_all"] == ["true"]:
        where = query.get("when_matched_update_all_filt", [None])[0]
        merge = merge.when_matched_update_all(where=where)
    if query["when_not_matched_insert_all"] == ["true"]:
        merge = merge.when_not_matched_insert_all()
    if query["when_not_matched_by_source_delete"] == ["true"]:
        merge = merge.when_not_matched_by_source_delete(
            query["when_not_matched_by_source_delete_filt"][0]
        )
    merge.execute(pa.ipc.open_stream(body).read_all(), on_bad_vectors="null")
    counts = dict.fromkeys(("num_updated_rows", "num_inserted_rows", "num_deleted_rows"), 0)
    return {"version": table.version, **counts}


def _create_index(table: Any, body: bytes) -> Any:
    asked = json.loads(body)
    if asked["index_type"] == "FTS":
        table.create_index(
            asked["column"],
            config=FTS(with_position=False, max_token_length=asked["max_token_length"]),
        )
    else:
        config = IvfSq(distance_type=asked["metric_type"], num_partitions=asked["num_partitions"])
        table.create_index(asked["column"], config=config)
    return {}


def _index(index: Any) -> dict[str, Any]:
    return {
        "index_name": index.name,
        "index_uuid": "00000000-0000-0000-0000-000000000000",
        "columns": index.columns,
        "index_status": "done",
    }


def _index_stats(table: Any, name: str) -> Any:
    table.optimize()
    stats = table.index_stats(name)
    if stats is None:
        raise KeyError(name)
    return {
        "num_indexed_rows": stats.num_indexed_rows,
        "num_unindexed_rows": stats.num_unindexed_rows,
        "index_type": stats.index_type,
    }


def _version(version: dict[str, Any]) -> dict[str, Any]:
    moment = version["timestamp"].astimezone().isoformat()
    return {"version": version["version"], "timestamp": moment, "metadata": {}}


def _query(table: Any, body: bytes) -> bytes:
    asked = json.loads(body)
    if text := asked.get("full_text_query"):
        search = table.search(_words(text["query"]), query_type="fts")
    elif asked["vector"]:
        search = table.search(asked["vector"], vector_column_name="vector", query_type="vector")
        search = search.distance_type(asked["distance_type"])
        if asked.get("bypass_vector_index"):
            search = search.bypass_vector_index()
    else:
        search = table.search()
    if asked.get("filter"):
        search = search.where(asked["filter"], prefilter=True)
    search = search.with_row_id(asked.get("with_row_id", False)).limit(asked["k"])
    if columns := asked.get("columns"):
        search = search.select(columns)
    rows = search.to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema) as out:
        out.write_table(rows)
    return bytes(sink.getvalue().to_pybytes())


def _words(query: dict[str, Any]) -> Any:
    """A question by words, from what the client makes of it."""
    (kind, asked), *_ = query.items()
    if kind == "boolean":
        return BooleanQuery([(Occur.SHOULD, _words(one)) for one in asked["should"]])
    asked_words: Any = MatchQuery
    return asked_words(asked["terms"], column=asked["column"], boost=asked["boost"])


@contextmanager
def serving(folder: Path) -> Iterator[Service]:
    """The service, listening."""
    service = Service(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self._body()
            place = urlsplit(self.path)
            service.asked.append(place.path)
            status, answer = 200, b""
            if self.headers.get("x-api-key") != KEY:
                status, answer = 401, b"no such key"
            else:
                try:
                    with service.lock:
                        made = service.answer(place.path, parse_qs(place.query), body)
                    answer = made if isinstance(made, bytes) else json.dumps(made).encode()
                except KeyError as error:
                    status, answer = 404, f"not found: {error}".encode()
                except ValueError as error:
                    status, answer = 400, str(error).encode()
            kind = "vnd.apache.arrow.file" if place.path.endswith("/query/") else "json"
            self.send_response(status)
            self.send_header("Content-Type", f"application/{kind}")
            self.send_header("Content-Length", str(len(answer)))
            # the version of the service, which says whether it takes questions of several parts
            self.send_header("phalanx-version", "0.5.0")
            self.end_headers()
            self.wfile.write(answer)

        def do_GET(self) -> None:
            self.do_POST()

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def log_message(self, *_: object) -> None:
            pass

    with listening(Handler) as host:
        service.address = f"http://{host}"
        yield service
