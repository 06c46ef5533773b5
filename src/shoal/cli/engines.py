"""The options that say where the work runs; the same for every command that can use an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.process.policy import EnginePart

Engine = Annotated[
    str | None,
    typer.Option(help="Where sharded panels are processed: memory, local (this machine, with scratch files) or spark."),
]
Master = Annotated[
    str | None, typer.Option(help="Spark master, such as local[4] or spark://host:7077; all local cores by default.")
]
Conf = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A Spark setting; repeatable.")]
Memory = Annotated[
    str | None,
    typer.Option(
        help="Memory for blocks of rows with --engine local, such as 2GB; shards being processed need more on top."
    ),
]
ShardSize = Annotated[
    int | None,
    typer.Option(
        metavar="SUBJECTS",
        help="Work in shards of about this many subjects, up to twice as many; by default it follows from the data.",
    ),
]
Processes = Annotated[int | None, typer.Option(help="Number of processes for --engine local.")]

_LOCAL, _SPARK = ("memory", "processes"), ("master", "conf")


def engine_of(ctx: typer.Context) -> EnginePart | None:
    """Return the engine that the options of a command name, or None for memory."""
    given = ctx.params
    name = given.get("engine")
    of_one = {option: given.get(option) for option in (*_LOCAL, *_SPARK) if given.get(option)}
    if (size := given.get("shard_size")) is not None and size < 1:
        raise ParameterError("--shard-size must be a whole number of subjects, at least 1.")
    if name is None and size is not None:
        name = "memory"
    if name is None:
        if of_one:
            wanted = "local" if next(iter(of_one)) in _LOCAL else "spark"
            raise ParameterError(f"--{next(iter(of_one))} needs an engine. Add --engine {wanted}.")
        return None
    if name not in ("memory", "local", "spark"):
        raise ParameterError(f"--engine must be memory, local or spark, got {name!r}.")
    for option in of_one:
        other = "spark" if option in _SPARK else "local"
        if name != other:
            raise ParameterError(f"--{option} belongs to --engine {other}, not to {name}.")
    from shoal.cli.spark import read_conf
    from shoal.process.policy import EnginePart

    if given.get("processes") is not None and given["processes"] < 1:
        raise ParameterError("--processes must be a whole number, at least 1.")
    return EnginePart(
        name=name,
        master=given.get("master"),
        conf=dict(read_conf(given.get("conf") or ())),
        memory=given.get("memory"),
        processes=given.get("processes"),
        shard_size=size,
    )
