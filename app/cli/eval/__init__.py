"""``strata eval``: run judged sets, compare runs, guard the ranking.

Exit codes: 0 all is well; 1 the command could not do its work; 2 a set is invalid; 3 a gate failed; 4 a regression beyond
the tolerance, or a ranking that is not the accepted one.
"""

import typer

from app.cli.eval import comparing, feedback, runs, sets, shipped_suites

commands = typer.Typer(
    help="Evaluation: run judged sets, compare runs, guard the ranking.", no_args_is_help=True
)
commands.command("validate")(sets.validate)
commands.command("baseline")(runs.baseline)
commands.command("candidate")(runs.candidate)
commands.command("compare")(comparing.compare)
commands.command("report")(comparing.report)
commands.command("suites")(shipped_suites.suites)
commands.command("hardcases")(sets.hardcases)
commands.command("guard")(shipped_suites.guard)
commands.command("accept")(shipped_suites.accept)
commands.command("cases-from-feedback")(feedback.cases_from_feedback)
commands.command("review-cases")(feedback.review_cases)
commands.command("cases-to-seed")(feedback.cases_to_seed)
