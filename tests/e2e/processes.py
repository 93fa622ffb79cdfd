"""Real ``strata`` processes of one test: started, watched, and their every printed word kept to be judged."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx

STRATA = Path(sys.executable).parent / "strata"
OPERATOR_TOKEN = "operator-token-that-nobody-may-print"
# A start that takes longer has failed; no test waits for this long when all is well.
PATIENCE = 60.0
_ADDRESS = re.compile(r"Strata on (http://\S+)")


def wait_until(what: str, probe: object, *, patience: float = PATIENCE) -> None:
    """Call ``probe`` until it is true.

    Raises:
        TimeoutError: it never was.
    """
    deadline = time.monotonic() + patience
    while not probe():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {patience:g} s for: {what}")
        time.sleep(0.05)


@dataclass
class Running:
    """A process and the file that holds what it prints."""

    process: subprocess.Popen[bytes]
    output_file: Path

    @property
    def output(self) -> str:
        """Standard output and standard error so far."""
        return self.output_file.read_text(encoding="utf-8", errors="replace")

    def wait(self) -> int:
        """Exit code, once the process has ended."""
        return self.process.wait(timeout=PATIENCE)

    def kill(self) -> None:
        """SIGKILL: nothing of the process runs after this."""
        self.process.kill()
        self.wait()

    def terminate(self) -> None:
        """SIGTERM; the process ends when it is done."""
        self.process.send_signal(signal.SIGTERM)

    @property
    def ended(self) -> bool:
        """Whether the process is gone."""
        return self.process.poll() is not None

    @property
    def url(self) -> str:
        """Address that a ``strata serve`` has printed."""
        wait_until("the address in\n" + self.output, lambda: self.ended or _ADDRESS.search(self.output))
        found = _ADDRESS.search(self.output)
        assert found is not None, self.output
        return found[1]

    def readiness(self) -> httpx.Response | None:
        """Answer of ``/readyz``, if there is any."""
        try:
            return httpx.get(f"{self.url}/readyz")
        except httpx.TransportError:
            return None

    def until_ready(self) -> "Running":
        """Wait until ``/readyz`` says 200."""

        def ready() -> bool:
            assert not self.ended, self.output
            answer = self.readiness()
            return answer is not None and answer.status_code == 200

        wait_until("a service that is ready", ready)
        return self


@dataclass
class Member:
    """A team with one profile, and its key."""

    key: str
    profile_id: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    @property
    def fragments(self) -> str:
        return f"/v1/profiles/{self.profile_id}/fragments"

    @property
    def batch(self) -> str:
        return f"{self.fragments}/batch"

    @property
    def recall(self) -> str:
        return f"/v1/profiles/{self.profile_id}/recall"


@dataclass
class Stage:
    """The processes of one test.

    Attributes:
        directory: Where they work; it is removed afterwards.
        secrets: What none of them may ever print: keys, tokens, passwords, memory contents.
    """

    directory: Path
    secrets: set[str] = field(default_factory=lambda: {OPERATOR_TOKEN})
    processes: list[Running] = field(default_factory=list)

    def start(self, *arguments: str, **settings: object) -> Running:
        """Start ``strata`` with arguments; ``settings`` become STRATA_ variables, None leaves one out."""
        configured = {
            "log_level": "debug",
            "embedder": "hash",
            "operator_token": OPERATOR_TOKEN,
            "data_dir": self.directory / "data",
        } | settings
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("STRATA_")}
        environment = inherited | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        environment |= {f"STRATA_{n.upper()}": str(v) for n, v in configured.items() if v is not None}
        output_file = self.directory / f"process-{uuid4().hex}.log"
        with output_file.open("wb") as output:
            # A shell that runs the tests in the background lets its children ignore Ctrl-C; a terminal's do not.
            process = subprocess.Popen(
                ["env", "--default-signal=INT", str(STRATA), *arguments],
                env=environment,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        running = Running(process, output_file)
        self.processes.append(running)
        return running

    def serve(self, **settings: object) -> Running:
        """``strata serve`` on a free port, ready to answer."""
        return self.start("serve", "--port", "0", **settings).until_ready()

    def member(self, service: Running) -> Member:
        """A new team with a profile, made through the API."""
        with httpx.Client(base_url=service.url, timeout=PATIENCE) as http:
            operator = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
            name = f"team {len(self.secrets)}"
            team = http.post("/v1/admin/teams", json={"name": name}, headers=operator).raise_for_status()
            key = team.json()["api_key"]
            self.secrets.add(key)
            headers = {"Authorization": f"Bearer {key}"}
            profile = http.post("/v1/profiles", json={"name": "notes"}, headers=headers).raise_for_status()
            return Member(key, profile.json()["id"])

    def secret(self, text: str) -> str:
        """Remember a text that no process may print, and return it."""
        self.secrets.add(text)
        return text

    def end(self) -> None:
        """End what still runs: politely, then not."""
        for running in self.processes:
            if not running.ended:
                running.terminate()
        for running in self.processes:
            try:
                running.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                running.kill()

    def judge(self) -> None:
        """No process has printed a secret or a traceback.

        Raises:
            AssertionError: one has.
        """
        for running in self.processes:
            output = running.output
            assert [secret for secret in self.secrets if secret in output] == [], output
            assert "Traceback (most recent call last)" not in output, output


@contextmanager
def staged(directory: Path) -> Iterator[Stage]:
    """A stage whose processes are ended and judged when the block ends well."""
    stage = Stage(directory)
    try:
        yield stage
    finally:
        stage.end()
    stage.judge()
