"""`shoal serve`: answer questions about a release that stays here. Loaded by every `shoal --help`: no web up here."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shoal.errors import ParameterError


class _StartsByDefault(TyperGroup):
    """`shoal serve FOLDER` starts the service; `shoal serve token …` and `shoal serve log …` are commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command that was left out."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["start", *args]
        return super().parse_args(ctx, args)


serve = typer.Typer(
    name="serve",
    help="Answer questions about a release that stays here: shoal serve FOLDER. Each recipient gets a token.",
    cls=_StartsByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
)
token = typer.Typer(name="token", help="Tokens of recipients.", no_args_is_help=True, rich_markup_mode=None)
serve.add_typer(token)

_Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder of a policy with model: closed, or a release.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@serve.command()
def start(
    folder: _Folder,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")] = 8766,
    public_url: Annotated[
        str | None, typer.Option(help="Address by which others reach it, such as https://answers.example.org.")
    ] = None,
    let_others_in: Annotated[
        bool, typer.Option("--let-others-in", help="Required for addresses that other machines can reach.")
    ] = False,
) -> None:
    """Start the service (the word start can be left out). Stop it with Ctrl-C."""
    lacking = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if lacking:
        raise ParameterError(f'The service needs {", ".join(lacking)}. Install it with: pip install "shoal[studio]"')

    from shoal.closed import Closed
    from shoal.studio.closed_app import ClosedSettings, build_closed
    from shoal.studio.command import listen
    from shoal.studio.server import address_of, answer

    settings = ClosedSettings(host=host, public_url=public_url, others=let_others_in)
    closed = Closed(_closed_folder(folder))
    with listen(host, port) as listener:
        print(f"folder   {closed.folder}", f"service  {address_of(settings, listener)}/ask", sep="\n", flush=True)
        answer(build_closed(closed, settings), settings, listener)


@token.command("create")
def create_token(
    folder: _Folder,
    recipient: Annotated[str, typer.Option(help="Who gets it. All tokens of one name share one budget.")],
    days: Annotated[float, typer.Option(help="How long it is valid.")] = 90.0,
    as_json: _Json = False,
) -> None:
    """Make a token for a recipient. It is shown once; only its hash is kept."""
    number, secret = _register(folder).create(recipient, days)
    if as_json:
        _print_json({"token": number, "secret": secret})
    else:
        print(f"token   {number}", f"secret  {secret}", sep="\n")


@token.command("list")
def list_tokens(folder: _Folder, as_json: _Json = False) -> None:
    """List the tokens there are, without their secrets."""
    found = _register(folder).tokens()
    now = datetime.now(UTC).timestamp()
    rows = [
        {
            "token": entry.token,
            "recipient": entry.recipient,
            "expires": _day(entry.expires),
            "state": "good" if entry.opens(now) else "revoked" if entry.revoked is not None else "expired",
        }
        for entry in found
    ]
    if as_json:
        _print_json({"tokens": rows})
        return
    for row in rows:
        print(f"{row['token']}  {row['state']:<7}  until {row['expires']}  {row['recipient']}")
    if not rows:
        print("tokens  none")


@token.command("revoke")
def revoke_token(folder: _Folder, number: Annotated[int, typer.Argument(metavar="TOKEN", help="Its number.")]) -> None:
    """Revoke a token at once."""
    _register(folder).revoke(number)
    print(f"token   {number}", "state   revoked", sep="\n")


@serve.command("log")
def show_log(folder: _Folder, as_json: _Json = False) -> None:
    """Show what was asked, by whom, and whether it was answered; exit 1 where the log was tampered with."""
    from dataclasses import asdict

    register = _register(folder)
    entries, odd = register.entries(), register.first_odd()
    if as_json:
        _print_json({"entries": [asdict(entry) for entry in entries], "first_odd": odd})
    else:
        for entry in entries:
            outcome = entry.outcome if not entry.reason else f"{entry.outcome}: {entry.reason}"
            moment = datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            print(f"{entry.number}  {moment}  token {entry.token}  {outcome}  {entry.question}")
        print(f"log     {'line ' + str(odd) + ' is not what was written' if odd else 'whole'}")
    raise typer.Exit(1 if odd else 0)


def _closed_folder(folder: Path) -> Path:
    from shoal.closed import find_closed_folder

    return find_closed_folder(folder)


def _register(folder: Path) -> Any:
    import time

    from shoal.closed import Register
    from shoal.closed.folder import DATABASE

    return Register(_closed_folder(folder) / DATABASE, time.time)


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _print_json(content: dict[str, Any]) -> None:
    print(json.dumps(content, indent=2))
