import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from app.settings import Settings

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(sys.executable).parent
COMPOSE = ROOT / "compose.yaml"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
README = ROOT / "deploy" / "README.md"
REQUIRED = re.compile(r"\$\{(\w+):\?[^}]+\}")


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def services():
    return YAML(typ="safe").load(COMPOSE.read_text(encoding="utf-8"))["services"]


@pytest.fixture(scope="module")
def stages():
    """Instructions of each build stage, as (name, rest) with continuation lines joined."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text(encoding="utf-8"))
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    found = []
    for name, rest in lines:
        if name == "FROM":
            found.append([])
        found[-1].append((name, rest))
    return found


def arguments(stage, name):
    return [rest for instruction, rest in stage if instruction == name]


def test_compose_file_follows_the_compose_specification():
    result = run(PROGRAMS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)
    assert (result.returncode, result.stdout + result.stderr) == (0, "ok -- validation done\n")


def test_hadolint_finds_nothing():
    result = run(PROGRAMS / "hadolint", "--no-color", DOCKERFILE)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


def test_both_stages_are_of_the_same_python_image(stages):
    assert [arguments(stage, "FROM") for stage in stages] == [
        ["python:3.11-slim-bookworm AS build"],
        ["python:3.11-slim-bookworm"],
    ]


def test_image_runs_as_a_fixed_user_that_is_not_root(stages):
    assert arguments(stages[-1], "USER") == ["10001:10001"]


def test_final_stage_installs_nothing(stages):
    assert not [rest for rest in arguments(stages[-1], "RUN") if re.search(r"\b(apt|apt-get|pip)\b", rest)]
    assert arguments(stages[-1], "COPY") == ["--from=build /opt/strata /opt/strata"]


def test_image_serves_on_all_addresses_and_checks_readiness(stages):
    assert arguments(stages[-1], "CMD") == ['["strata", "serve", "--host", "0.0.0.0", "--port", "8080"]']
    (check,) = arguments(stages[-1], "HEALTHCHECK")
    assert check.endswith('CMD ["python", "/opt/strata/healthcheck.py"]')


def test_every_install_of_dependencies_is_locked(stages):
    installs = [rest for rest in arguments(stages[0], "RUN") if " install " in rest]
    assert len(installs) == 3
    assert "torch.txt" in installs[0]
    assert "^torch==" in installs[0]
    assert "--constraint constraints.txt" in installs[1]
    assert "--no-deps ." in installs[2]
    assert re.search(
        r"^torch==\d+\.\d+\.\d+$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
    )


def test_build_context_holds_what_is_copied_and_nothing_else(stages):
    sources = [source for rest in arguments(stages[0], "COPY") for source in rest.split()[:-1]]
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert sorted(line[1:] for line in lines if line.startswith("!")) == sorted(
        source.removeprefix("./") for source in sources
    )
    assert "*" in lines
    assert all((ROOT / source).exists() for source in sources)


def test_api_and_worker_wait_for_the_migration(services):
    assert services["migrate"]["command"] == ["strata", "db", "upgrade"]
    assert services["migrate"]["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert "restart" not in services["migrate"]
    for name in ("api", "worker"):
        assert services[name]["depends_on"] == {
            "db": {"condition": "service_healthy"},
            "migrate": {"condition": "service_completed_successfully"},
        }


def test_database_keeps_its_data_where_the_image_of_postgresql_18_puts_it(services):
    assert services["db"]["image"] == "pgvector/pgvector:0.8.6-pg18"
    assert services["db"]["volumes"] == [
        "database:/var/lib/postgresql",
        "./deploy/roles.sql:/docker-entrypoint-initdb.d/10-roles.sql:ro",
    ]


def test_only_the_migration_knows_the_owner_role(services):
    holders = {
        name
        for name, service in services.items()
        for key, value in service["environment"].items()
        if "OWNER" in key or "OWNER" in value
    }
    assert holders == {"db", "migrate"}


def test_strata_containers_have_no_rights_to_spare(services):
    for name in ("migrate", "api", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]
        assert "user" not in services[name]


def test_the_api_is_checked_for_readiness_and_published_on_loopback(services):
    assert services["api"]["healthcheck"]["test"] == ["CMD", "python", "/opt/strata/healthcheck.py"]
    assert services["api"]["ports"] == ["${STRATA_PUBLISH:-127.0.0.1:8080}:8080"]
    assert "ports" not in services["db"]


def test_secrets_have_no_default():
    text = COMPOSE.read_text(encoding="utf-8")
    secrets = {"POSTGRES_PASSWORD", "STRATA_OWNER_PASSWORD", "STRATA_API_PASSWORD", "STRATA_OPERATOR_TOKEN"}
    assert set(REQUIRED.findall(text)) == secrets
    for secret in secrets:
        assert len(re.findall(rf"\$\{{{secret}\b", text)) == len(re.findall(rf"\$\{{{secret}:\?", text))


def test_every_setting_given_to_strata_exists(services):
    known = {f"STRATA_{name.upper()}" for name in Settings.model_fields}
    given = {key for name in ("migrate", "api", "worker") for key in services[name]["environment"]}
    assert given <= known
    assert given == {
        "STRATA_DATABASE_URL",
        "STRATA_OWNER_DATABASE_URL",
        "STRATA_EMBEDDER",
        "STRATA_LOG_LEVEL",
        "STRATA_OPERATOR_TOKEN",
        "STRATA_WORKER",
    }


def test_every_variable_is_documented():
    used = set()
    for path in (COMPOSE, DOCKERFILE, ROOT / "deploy" / "roles.sql"):
        used |= set(re.findall(r"\b(?:STRATA|POSTGRES)_[A-Z_]+\b", path.read_text(encoding="utf-8")))
    documented = set(re.findall(r"^\| `(\w+)` \|", README.read_text(encoding="utf-8"), re.MULTILINE))
    assert used - documented == {"POSTGRES_DB"}
