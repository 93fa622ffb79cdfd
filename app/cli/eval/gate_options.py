"""The sixteen gates as options of a command: each bound, on each axis."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from app.cli.output import CommandError
from app.evaluation.gates import NAMES, Gate, GateError, parse_gate

GateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--gate",
        help="A gate, of one slice or all: [SLICE/]NAME=VALUE, as in temporal/min-recall-at-k=.8; repeatable",
        rich_help_panel="Gates",
    ),
]


def with_gates(command: Callable[..., None]) -> Callable[..., None]:
    """A command with an option for every gate; it gets them, and those of ``--gate``, as ``gates``."""

    @wraps(command)
    def wrapped(*, gate: list[str] | None = None, **options: Any) -> None:
        gates = [
            Gate(name=name, value=value)
            for name in NAMES
            if (value := options.pop(name.replace("-", "_"))) is not None
        ]
        try:
            gates += [parse_gate(text) for text in gate or ()]
        except GateError as error:
            raise CommandError(str(error)) from error
        command(gates=gates, **options)

    own = [one for one in inspect.signature(command).parameters.values() if one.name != "gates"]
    added = [
        inspect.Parameter(
            name.replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                float | None,
                typer.Option(f"--{name}", help=_told(name), show_default=False, rich_help_panel="Gates"),
            ],
        )
        for name in NAMES
    ]
    slices = inspect.Parameter("gate", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=GateOption)
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own] + [*added, slices]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped


def _told(name: str) -> str:
    least = "Least" if name.startswith("min-") else "Largest"
    return f"{least} {name[4:].replace('-', ' ')} that passes"
