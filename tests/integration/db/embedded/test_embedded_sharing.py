"""One embedded server, shared between processes."""

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.db.embedded.servers import holders, kill, leave, notes, select_one, server
from tests.support import servers_of


class TestSharing:
    def test_two_processes_that_start_at_once_share_one_server(self, data_dir: Path) -> None:
        with holders(data_dir, 2):
            assert len(servers_of(data_dir)) == 1
            assert select_one(data_dir) == 1
        assert servers_of(data_dir) == []

    def test_the_last_one_to_leave_stops_the_server(self, existing: Path) -> None:
        with holders(existing, 2) as (first, second):
            running = servers_of(existing)
            leave(first)
            assert servers_of(existing) == running
            assert select_one(existing) == 1
            leave(second)
            assert servers_of(existing) == []

    def test_a_killed_process_counts_as_gone(self, existing: Path) -> None:
        with holders(existing, 2) as (first, second):
            kill(first)
            assert select_one(existing) == 1
            leave(second)
            assert servers_of(existing) == []

    def test_a_killed_process_does_not_take_the_server_from_the_others(self, existing: Path) -> None:
        with holders(existing, 3) as (first, second, third):
            kill(first)
            leave(second)
            assert select_one(existing) == 1
            leave(third)
            assert servers_of(existing) == []

    def test_a_server_left_over_by_killed_processes_is_joined_and_then_stopped(self, existing: Path) -> None:
        with holders(existing, 1) as (only,):
            kill(only)
        left_over = servers_of(existing)
        assert len(left_over) == 1
        with server(existing) as embedded:
            assert servers_of(existing) == left_over
            assert notes(embedded) == []
        assert servers_of(existing) == []

    def test_two_claims_in_one_process_are_two_users(self, existing: Path) -> None:
        with server(existing) as outer:
            with server(existing) as inner:
                assert inner.superuser_url() == outer.superuser_url()
            assert notes(outer) == []
        assert servers_of(existing) == []

    def test_a_process_that_forgets_to_stop_stops_at_its_exit(self, existing: Path) -> None:
        script = (
            "import sys; from app.db.embedded import EmbeddedPostgres; EmbeddedPostgres(sys.argv[1]).start()"
        )
        subprocess.run([sys.executable, "-c", script, str(existing)], check=True)
        assert servers_of(existing) == []

    def test_start_and_stop_may_be_repeated(self, existing: Path) -> None:
        embedded = server(existing)
        embedded.stop()
        for _ in range(2):
            embedded.start()
            embedded.start()
            assert notes(embedded) == []
            embedded.stop()
            embedded.stop()
            assert servers_of(existing) == []

    def test_a_forked_child_does_not_stop_the_server_of_its_parent(self, existing: Path) -> None:
        with server(existing) as embedded:
            child = os.fork()
            if child == 0:
                embedded.stop()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            assert notes(embedded) == []
