"""The ``strata`` command: one module a noun."""

import sys

import typer
from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError

from app.cli import bench, db, key, memory, profile, recall, serve, team
from app.cli import eval as evaluation
from app.cli.output import CommandError, fail, report_error
from app.db.embedded import EmbeddedPostgresError
from app.embeddings.errors import EmbeddingError
from app.errors import StrataError
from app.runtime import StartupError, first_line

program = typer.Typer(
    name="strata",
    help="Multi-tenant memory backend on PostgreSQL. Configuration: STRATA_... variables, see the README.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
program.command("serve")(serve.serve)
program.command("worker")(serve.worker)
program.command("bench")(bench.bench)
program.add_typer(db.commands, name="db")
program.add_typer(team.commands, name="team")
program.add_typer(key.commands, name="key")
program.add_typer(profile.commands, name="profile")
program.add_typer(memory.commands, name="memory")
program.command("recall")(recall.recall)
program.add_typer(evaluation.commands, name="eval")


def main() -> None:
    """Entry point; every expected failure ends in one plain sentence and exit code 1."""
    try:
        program()
    except (StartupError, CommandError) as error:
        fail(str(error), error.remedy)
    except EmbeddedPostgresError as error:
        fail(error.message, error.hint)
    except StrataError as error:
        report_error(error)
        sys.exit(1)
    except EmbeddingError as error:
        fail(str(error))
    except ValidationError as error:
        faults = (
            f"STRATA_{str(item['loc'][0]).upper()}: {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors(include_input=False)
        )
        fail("; ".join(faults), "See the configuration table in the README.")
    except DBAPIError as error:
        fail(f"the database refused: {first_line(error)}", "Run `strata db check`.")
