"""`datapackage.json`: the tables of a release as Frictionless describes them, for catalogues and other tools.

It follows from the certificate alone, so that anyone who has both can see that it is true. Its bytes belong to the
format of releases: a change of them needs a new format version.

References
----------
The Data Package standard, https://datapackage.org: package, resource and table schema.
"""

from __future__ import annotations

import json
from typing import Any

from shoal.model.event_tables import COUNT, GROUP, TIME
from shoal.release.certificate import Certificate
from shoal.release.files import table_of

PACKAGE_FILE = "datapackage.json"

_MEDIA = {"parquet": "application/vnd.apache.parquet", "csv": "text/csv"}
_TITLES = {
    "values": "Anonymized time series",
    "profiles": "Profiles of groups of time series",
    "scenarios": "Distributions of groups of time series",
    "envelopes": "Ranges and patterns of time series",
    "events": "Anonymized events",
}
_OF_TEXT = {"integer": "integer", "number": "number", "boolean": "boolean", "text": "string"}


def package_bytes(certificate: Certificate) -> bytes:
    """The content of `datapackage.json`."""
    return (json.dumps(describe_package(certificate), indent=2, ensure_ascii=False) + "\n").encode()


def describe_package(certificate: Certificate) -> dict[str, Any]:
    """Every table with its files and columns. All names come from the certificate."""
    tables: dict[str, list[str]] = {}
    for name in sorted(name for name in certificate.files if name.endswith((".parquet", ".csv"))):
        tables.setdefault(table_of(name), []).append(name)
    return {
        "name": "shoal-release",
        "title": _TITLES[certificate.form],
        "description": "What is promised about these tables is in release.json. `shoal verify` checks it.",
        "resources": [_resource(certificate, table, names) for table, names in tables.items()],
    }


def _resource(certificate: Certificate, table: str, names: list[str]) -> dict[str, Any]:
    kind = names[0].rpartition(".")[2]
    resource: dict[str, Any] = {
        "name": table,
        "type": "table",
        "path": names[0],
        **({"extrapaths": names[1:]} if names[1:] else {}),
        "format": kind,
        "mediatype": _MEDIA[kind],
    }
    if kind == "csv":
        resource["encoding"] = "utf-8"
    fields = _fields(certificate, table)
    # Tables in other shapes have columns named after series or instants.
    return resource | ({"schema": {"fields": fields}} if fields else {})


def _fields(certificate: Certificate, table: str) -> list[dict[str, str]]:
    columns, clock = certificate.columns, _clock(certificate)
    if columns.events is not None:
        listed = dict(columns.events.types)
        if columns.events.publish == "bucketised":
            of_data = (TIME, GROUP, *columns.events.quasi)
            names = of_data if table == "data" else (TIME, GROUP, columns.events.sensitive, COUNT)
            listed = {name: listed[name] for name in names if name in listed}
        return [_field(name, _kind_of(kind)) for name, kind in listed.items()]
    static = columns.sensitive or columns.attributes
    if table == "attributes":
        return [_field("id", "string"), *(_field(name, _OF_TEXT[kind]) for name, kind in static.items())]
    if table == "patterns":
        return [_field("id", "string"), _field("level", "integer"), _field("pattern", "string")]
    if table != "data":
        return []
    known = {"id": "string", "group": "string", "count": "integer", "time": clock}
    others = {"level", "pattern"} if certificate.form == "envelopes" else set()
    # Static columns come last, and may be called like one of the values.
    own = columns.published[: len(columns.published) - len(static)]
    return [_field(name, known.get(name, "number")) for name in own if name not in others]


def _field(name: str, kind: str) -> dict[str, str]:
    return {"name": name, "type": kind}


def _clock(certificate: Certificate) -> str:
    return "datetime" if "T" in certificate.time.first else "integer"


def _kind_of(kind: str) -> str:
    """The type of a column of events in the terms of a table schema."""
    for start, word in (("datetime", "datetime"), ("int", "integer"), ("uint", "integer"), ("float", "number")):
        if kind.startswith(start):
            return word
    return kind
