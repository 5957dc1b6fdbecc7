"""`serve`: the tools for an agent, over MCP on standard input and output, or over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from profiling.console import db_option, say
from servingsim.errors import ServingSimError
from skills.desk import Desk

EXAMPLES = """\b
Examples:
  servingsim serve
  servingsim serve --root ~/models --read-only
  servingsim serve --http --port 8000
"""


@click.command("serve", epilog=EXAMPLES)
@click.option("--http", is_flag=True, help="Serve over streamable HTTP, at /mcp.")
@click.option("--host", help="Address to bind to, with --http; default 127.0.0.1.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port, with --http; default 8000, 0 takes a free one."
)
@click.option(
    "--allowed-host", "allowed_hosts", multiple=True, help="Name by which others reach it; repeatable."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with the bearer token that every request must carry.",
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    help="Folder whose files may be read; repeatable; default the current one.",
)
@click.option("--read-only", is_flag=True, help="Offer no tool that writes.")
@db_option
def serve(
    *,
    http: bool,
    host: str | None,
    port: int | None,
    allowed_hosts: tuple[str, ...],
    token_file: Path | None,
    roots: tuple[str, ...],
    read_only: bool,
    db: str | None,
) -> None:
    """Serve the tools to an agent until it closes the pipe, or until SIGTERM or SIGINT.

    Standard output carries the protocol and nothing else. Jobs that were started go on after the server's end.
    An address that other machines reach needs --allowed-host and --token-file.
    """
    if not http and (host or port is not None or allowed_hosts or token_file):
        raise ServingSimError(
            "--host, --port, --allowed-host and --token-file are of HTTP", hint="add --http"
        )
    desk = Desk.from_environment(db=db, roots=roots, read_only=read_only)
    # Only this command needs the protocol's packages.
    from server.mcp.build import build_server  # noqa: PLC0415 - as above

    if http:
        from server.mcp.access import read_token  # noqa: PLC0415 - as above
        from server.mcp.http import serve_http  # noqa: PLC0415 - as above

        token = read_token(token_file) if token_file else ""
        serve_http(
            build_server(desk),
            host=host or "127.0.0.1",
            port=8000 if port is None else port,
            allowed_hosts=allowed_hosts,
            token=token,
        )
        return
    from server.mcp.stdio import serve_stdio  # noqa: PLC0415 - as above

    if sys.stdin.isatty():
        say("waiting for an MCP client on standard input; end with Ctrl-D")
    serve_stdio(build_server(desk))


COMMAND = serve
