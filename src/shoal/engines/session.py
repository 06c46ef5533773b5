"""Spark sessions as Shoal needs them: quiet, with Arrow, in UTC, with temporary files that only their owner can
read."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.engines.java import Java, find_java
from shoal.errors import ParameterError
from shoal.files.scratch import ScratchFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PREFIX = "shoal-spark-"

_LOG = """\
status = error
rootLogger.level = error
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = spark: %p %c{1}: %m%n
appender.console.layout.alwaysWriteExceptions = false
"""
"""Log each error in one line, without the exceptions behind it: a library's message may quote the data.

PySpark would set all other loggers to the level of the second.
"""

_THREADS = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""One thread for each Python worker: Spark starts one worker per core, and more threads would wait for each other."""


def session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Start a Spark session; `close` ends it.

    Arrow is on, the clock is UTC, Spark's web pages are off, and workers run this Python. On one machine, Spark's
    temporary files, which include raw data, go to a folder that only its owner can read. So does its log, unless
    SHOAL_DEBUG=1 asks to see it. The folder is removed by `close`, at the end of this process, or after a crash by the
    next session.

    Parameters
    ----------
    master
        Where it runs: `local[2]` is two threads of this machine; `spark://...`, `yarn` and `k8s://...` are clusters. By
        default, the master that spark-submit was given, and in other programs all cores of this machine.
    conf
        Spark settings by name; they override ours.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise ParameterError("Spark needs PySpark, which is not installed. Install it with: pip install 'shoal[spark]'")
    if (running := _running()) is not None:
        raise ParameterError(
            f"A Spark session with master {running.sparkContext.master} already runs in this process. Use that one, "
            "or stop it first."
        )
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # set by spark-submit: the port of the Java it started
        return _submitted(master, conf or {})
    master = "local[*]" if master is None else master
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    if on_one_machine(master):
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = ScratchFolder.make(_PREFIX)
    try:
        log = folder.path / "log4j2.properties"
        log.write_text(_LOG)
        settings = _settings(master, conf or {}, folder.path, f"-Dlog4j2.configurationFile=file:{log}")
        spark = _start(master, settings, java, folder.path / "spark.log")
    except BaseException:
        folder.remove()
        raise
    _FOLDERS[spark.sparkContext.applicationId] = folder
    return spark


def close(spark: SparkSession) -> None:
    """End a session that `session` began, and remove its temporary files."""
    name = spark.sparkContext.applicationId
    spark.stop()
    if (folder := _FOLDERS.pop(name, None)) is not None:
        _end_java()  # it has temporary files in the folder, and raw data in its memory
        _remove(name, folder)


@contextmanager
def opened(master: str | None = None, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Use the session that runs in this process, or else start one for as long as the block runs.

    A running session must have the requested master and settings, and is left running.
    """
    running = _running()
    if running is None:
        spark = session(master, conf)
        try:
            yield spark
        finally:
            close(spark)
        return
    context = running.sparkContext
    if master is not None and context.master != master:
        raise ParameterError(
            f"A Spark session with master {context.master} already runs in this process, but {master} was requested. "
            "Stop it, or omit the master."
        )
    settings = context.getConf()
    if other := sorted(name for name, value in (conf or {}).items() if settings.get(name) != value):
        raise ParameterError(
            f"A Spark session already runs in this process with other settings than requested: {', '.join(other)}. "
            "Stop it, or omit them."
        )
    yield running


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress PySpark's warning that it does not know the newest pandas: we use Arrow."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def on_one_machine(master: str) -> bool:
    """Whether all of Spark's processes are on this machine."""
    return master == "local" or master.startswith(("local[", "local-cluster["))


_EVERYWHERE = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Equal rows are adjacent in what is kept: compressed, they take a tenth of the space.
    "spark.rdd.compress": "true",
    # Let the size of a kept table decide on its number of parts, not 200: each costs Python a tenth of a second.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    **{f"spark.executorEnv.{name}": "1" for name in _THREADS},
}
"""Settings of every session started here."""


def _submitted(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """The session that spark-submit prepared; what it was given overrides ours."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()  # otherwise its settings are not known yet
    given = dict(SparkConf().getAll())
    if master is not None and given.get("spark.master", master) != master:
        raise ParameterError(
            f"spark-submit was given the master {given['spark.master']}, but {master} is requested here. Omit it here."
        )
    builder = SparkSession.builder
    for name, value in {**_EVERYWHERE, **given, **conf}.items():
        builder = builder.config(name, value)
    with quiet():
        return builder.getOrCreate()


def _settings(master: str, conf: Mapping[str, str], folder: Path, java: str) -> dict[str, str]:
    settings = {
        "spark.app.name": "shoal",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **_EVERYWHERE,
    }
    if on_one_machine(master):
        # No other machine needs to reach it, and host names do not always resolve.
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings |= {"spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse")}
        java += f" -Djava.io.tmpdir={folder}"
        settings["spark.executor.extraJavaOptions"] = java
    settings["spark.driver.extraJavaOptions"] = java
    settings |= conf
    for name in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        if name in conf and on_one_machine(master):
            settings[name] = f"{java} {conf[name]}"  # of an option given twice Java takes the last
    return settings


def _start(master: str, settings: Mapping[str, str], java: Java, log_file: Path) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False).setMaster(master).setAll(list(settings.items()))
    try:
        with quiet(), log_file.open("w") as log:
            from pyspark.sql import SparkSession

            if SparkContext._gateway is None:  # else someone stopped their session, and PySpark kept the Java process
                pipes = {} if os.environ.get("SHOAL_DEBUG") else {"stdout": log, "stderr": log}
                gateway = launch_gateway(conf, pipes)  # type: ignore[no-untyped-call]
                SparkContext._ensure_initialized(gateway=gateway, conf=conf)
            builder = SparkSession.builder.master(master)
            for name, value in settings.items():
                builder = builder.config(name, value)
            return builder.getOrCreate()
    except Exception as error:  # of PySpark, of its bridge to Java, or of Java itself
        cause = getattr(error, "java_exception", None)
        told = "" if cause is None else f": {str(cause.getMessage()).splitlines()[0].rstrip('.')}"
        _end_java()
        raise ParameterError(
            f"Spark did not start with master {master!r} on Java {java.version} ({java.home}){told}. PySpark 4 "
            "supports Java 17 and 21; check the master and the settings."
        ) from None


def _running() -> SparkSession | None:
    """The session of this process, if there is one."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    return None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()


def _end_java() -> None:
    """End the Java that PySpark would keep for the next session."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
        process = getattr(gateway, "proc", None)
        if process is not None:
            with suppress(OSError):
                process.stdin.close()  # it ends when this closes
            process.wait()


_FOLDERS: dict[str, ScratchFolder] = {}
"""The folder of each session started here, by the id of its application."""


def _remove(name: str, folder: ScratchFolder) -> None:
    """Remove a session's temporary files, and what the executors of local-cluster wrote into Spark's own folder."""
    from pyspark.find_spark_home import _find_spark_home

    folder.remove()
    shutil.rmtree(Path(_find_spark_home()) / "work" / name, ignore_errors=True)


@atexit.register
def _at_exit() -> None:
    if not _FOLDERS:
        return
    with suppress(Exception):
        if (spark := _running()) is not None:
            spark.stop()
        _end_java()
    for name, folder in _FOLDERS.items():
        _remove(name, folder)
    _FOLDERS.clear()
