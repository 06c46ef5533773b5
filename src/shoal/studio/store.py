"""The studio's database: one SQLite file, readable by its owner only.

Every change is one transaction that holds the write lock from its first statement (BEGIN IMMEDIATE), so what it read is
still true when it writes. The file contains no secrets: only the SHA-256 of tokens and cookies.
"""

from __future__ import annotations

from pathlib import Path

from shoal.files.database import Database

FORMAT = 1

_SCHEMA = """
create table if not exists readings (
  name text primary key,
  settings text not null
);
create table if not exists tasks (
  task text primary key,
  source_table text,
  at real not null
);
create table if not exists identities (
  task text primary key,
  identity text not null,
  source text not null
);
create table if not exists released_tables (
  name text primary key
);
create table if not exists closed_tasks (
  task text primary key,
  source_table text not null
);
create table if not exists links (
  link integer primary key,
  task text not null,
  analyst text not null,
  token_sha256 text not null unique,
  created real not null,
  expires real not null,
  revoked real
);
create table if not exists sessions (
  cookie_sha256 text primary key,
  link integer references links (link),
  expires real not null
);
create table if not exists questions (
  task text not null,
  analyst text not null,
  position integer not null,
  left_curve integer not null,
  right_curve integer not null,
  repeat_of integer,
  primary key (task, analyst, position)
);
create table if not exists further_pairs (
  task text primary key,
  pairs integer not null
);
create table if not exists labels (
  task text not null,
  analyst text not null,
  position integer not null,
  left_curve integer not null,
  right_curve integer not null,
  repeat_of integer,
  answer text not null check (answer in ('similar', 'dissimilar', 'undecided')),
  number integer not null,
  at real not null,
  primary key (task, analyst, position)
);
create table if not exists looks (
  name text primary key,
  of text not null,
  content text not null
);
create table if not exists drafts (
  draft text primary key,
  source_table text not null,
  policy text not null,
  chosen text,
  sheet text,
  made real not null
);
create table if not exists reviews (
  draft text not null,
  link integer not null references links (link),
  digest text not null,
  decision text not null check (decision in ('approved', 'refused')),
  name text not null,
  reason text not null,
  at real not null,
  primary key (link, digest)
);
create table if not exists jobs (
  job text primary key,
  title text not null,
  kind text not null,
  arguments text not null,
  back text not null,
  status text not null,
  starts integer not null default 0,
  message text not null default '',
  leads_to text not null default '',
  at real not null
);
create table if not exists results (
  task text not null,
  name text not null,
  content text not null,
  at real not null,
  primary key (task, name)
);
"""


class ProjectStore(Database):
    """The database of a project."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, schema=_SCHEMA, version=FORMAT, what="a studio")
