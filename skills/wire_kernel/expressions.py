"""Arithmetic that a caller writes: masks and projections, read as data and never run as Python."""

from __future__ import annotations

import ast
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAX_CHARACTERS = 300
BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LtE: operator.le,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max}


@dataclass(frozen=True)
class Expression:
    """One expression over named values."""

    text: str
    tree: ast.expr

    @property
    def names(self) -> set[str]:
        """Values that it reads."""
        found = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        return found - set(FUNCTIONS)

    def value(self, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a number or a truth
        """What it comes to.

        Raises:
            ServingSimError: A division by zero, or a comparison of a text with a number.
        """
        try:
            return _value(self.tree, values)
        except (ArithmeticError, TypeError) as error:
            raise ServingSimError(
                f"{self.text!r}: {error}", path="shape", hint="correct the expression"
            ) from error

    def renamed(self, names: Mapping[str, str]) -> str:
        """As Python text, its values under other names."""
        tree = ast.parse(self.text, mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
        return ast.unparse(tree)


def expression(text: str, known: Iterable[str], *, where: str) -> Expression:
    """Read an expression.

    Raises:
        ServingSimError: E_INPUT, no expression, a construct that is not allowed, or a name that is not known.
    """
    names = list(known)
    try:
        tree = ast.parse(text[: MAX_CHARACTERS + 1].strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _refused(text, where, "no expression") from error
    if len(text) > MAX_CHARACTERS:
        raise _refused(text, where, f"longer than {MAX_CHARACTERS} characters")
    for node in ast.walk(tree):
        if not _allowed(node):
            raise _refused(text, where, f"{type(node).__name__} is not allowed")
    found = Expression(text.strip(), tree)
    strange = sorted(found.names - set(names))
    if strange:
        raise _refused(text, where, f"unknown {', '.join(strange)}; known: {', '.join(names)}")
    return found


def _refused(text: str, where: str, why: str) -> ServingSimError:
    return ServingSimError(
        f"{text[:80]!r}: {why}",
        path=where,
        known="+ - * / // %, comparisons, and, or, not, min, max",
        hint="write an expression over the fields' names",
    )


def _allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float | str) and len(str(node.value)) <= 20
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords
    plain = (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Name, ast.Load, ast.And, ast.Or)
    return isinstance(node, (*plain, ast.Not, ast.USub, *BINARY))


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:  # noqa: ANN401, PLR0911 - one return a construct
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return values[node.id]
        case ast.BinOp():
            left, right = _value(node.left, values), _value(node.right, values)
            if isinstance(left, str) or isinstance(right, str):
                raise TypeError("arithmetic with a text")
            return BINARY[type(node.op)](left, right)
        case ast.UnaryOp():
            inner = _value(node.operand, values)
            return not inner if isinstance(node.op, ast.Not) else -inner
        case ast.BoolOp():
            parts = (_value(each, values) for each in node.values)
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        case ast.Compare():
            sides = [_value(each, values) for each in (node.left, *node.comparators)]
            steps = zip(node.ops, sides, sides[1:], strict=False)
            return all(BINARY[type(op)](left, right) for op, left, right in steps)
        case ast.Call(func=ast.Name(id=name)):
            return FUNCTIONS[name](*(_value(each, values) for each in node.args))
        case _:
            raise TypeError(type(node).__name__)
