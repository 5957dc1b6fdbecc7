"""Who may reach the server over HTTP: which names it answers to, and with which token."""

from __future__ import annotations

import hmac
import ipaddress
import stat
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MIN_TOKEN = 16


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_bind(host: str, allowed_hosts: tuple[str, ...], token: str) -> None:
    """Refuse an address that others reach, unless a token and the names it is reached by are given.

    Raises:
        ServingSimError: E_INPUT.
    """
    if is_loopback(host) or (allowed_hosts and token):
        return
    raise ServingSimError(
        f"{host} can be reached from other machines",
        path="--host",
        known="127.0.0.1, ::1, localhost",
        hint="bind to 127.0.0.1, or give --allowed-host NAME and --token-file FILE",
    )


def read_token(path: Path) -> str:
    """The token in a file that only its owner reads.

    Raises:
        ServingSimError: E_PATH, it is not there or others can read it; E_INPUT, it is too short.
    """
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ServingSimError(
            f"cannot be read: {error}",
            code="E_PATH",
            path=str(path),
            hint="give a text file with one ASCII token",
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ServingSimError(
            "others can read the token", code="E_PATH", path=str(path), hint=f"chmod 600 {path}"
        )
    if len(text) < MIN_TOKEN:
        raise ServingSimError(
            f"a token of {len(text)} characters", path=str(path), known=f"at least {MIN_TOKEN}"
        )
    return text


def names_answered_to(allowed_hosts: tuple[str, ...]) -> TransportSecuritySettings:
    """Host and Origin headers that are accepted: this machine's own names and the allowed ones, at any port.

    A page in a browser cannot reach a server that refuses every other name.
    """
    names = (*LOOPBACK, *allowed_hosts)
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[
            form for name in names for form in (f"http://{name}", f"http://{name}:*", f"https://{name}")
        ],
    )


class BearerGate:
    """Lets a request through that carries the token.

    Args:
        app: What is behind the gate.
        token: The token.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401, or hand on."""
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
                refusal = JSONResponse(
                    {"error": "a bearer token is needed"}, 401, headers={"WWW-Authenticate": "Bearer"}
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)
