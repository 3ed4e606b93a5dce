"""How commands find a dev session and what they make of its answers, without Spark."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from types import ModuleType

import pytest

from penstock.cli.dev_session import client
from penstock.cli.dev_session.loaded_code import LoadedCode
from penstock.cli.dev_session.place import connect, folder_of, listening
from penstock.cli.dev_session.requests import Request, digests, receive_request, send_request
from penstock.errors import ExternalError


def test_a_session_is_found_by_its_folder_and_its_pipeline_file_and_leaves_nothing(tmp_path: Path) -> None:
    project = tmp_path / ("long" * 40)  # longer than the name of a socket may be
    project.mkdir()
    (project / "penstock.yml").touch()
    assert connect(project) is None
    with listening(project):
        for place in (project, project / "penstock.yml"):
            connection = connect(place)
            assert connection is not None
            connection.close()
        assert (folder_of(project) / "socket").stat().st_mode & 0o777 == 0o600
        assert folder_of(project).stat().st_mode & 0o777 == 0o700
    assert os.listdir(project) == ["penstock.yml"]


def test_there_is_one_session_of_a_project_and_one_that_was_killed_is_none(tmp_path: Path) -> None:
    with listening(tmp_path), pytest.raises(FileExistsError), listening(tmp_path):
        pass
    folder_of(tmp_path).mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(folder_of(tmp_path) / "socket"))
    assert (folder_of(tmp_path) / "socket").exists()
    assert connect(tmp_path) is None
    with listening(tmp_path):
        assert connect(tmp_path) is not None


def test_a_socket_that_others_could_have_made_is_not_used(tmp_path: Path) -> None:
    with listening(tmp_path):
        folder_of(tmp_path).chmod(0o770)
        assert connect(tmp_path) is None
    folder_of(tmp_path).mkdir(parents=True, exist_ok=True)
    folder_of(tmp_path).chmod(0o755)
    with pytest.raises(PermissionError), listening(tmp_path):
        pass


def test_a_request_has_no_value_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "geheim")
    monkeypatch.setenv("COLUMNS", "77")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        request = Request.of_this_process(["validate"], 0o22)
        send_request(ours, request)
        received = receive_request(theirs)
    assert received is not None
    assert received[0] == request
    for stream in received[1]:
        os.close(stream)
    assert "geheim" not in repr(request)
    assert request.shows["COLUMNS"] == "77"


def test_terminals_may_differ_and_what_a_pipeline_can_depend_on_may_not() -> None:
    one = {"TERM": "xterm", "SSH_TTY": "/dev/pts/1", "TMUX_PANE": "%1", "COLUMNS": "80", "AWS_PROFILE": "a"}
    assert digests(one) == digests({"AWS_PROFILE": "a", "TERM_SESSION_ID": "w0"})
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "PATH", "PYTHONPATH", "PENSTOCK_CACHE"):
        assert digests(one) != digests(one | {name: "b"})


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([{"runs": True}, {"prints": True}, {"exit": 2}], 2),
        ([{"refused": True}], None),
        ([{"runs": True}, {"refused": True}], None),
        ([{"runs": True}], None),
        ([], None),
    ],
)
def test_a_command_runs_on_its_own_unless_it_was_answered(messages: list[object], code: int | None) -> None:
    assert answer(messages) == code


def test_a_session_that_ends_within_its_answer_is_an_error() -> None:
    with pytest.raises(ExternalError, match="DEV_SESSION_ENDED"):
        answer([{"runs": True}, {"prints": True}])


def test_a_session_that_is_busy_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0.05)
        assert client._exit_code(ours) is None


def test_a_module_that_has_changed_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "library.py"
    file.write_text("one = 1\n")
    module = ModuleType("library_of_a_test")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    code = LoadedCode()
    assert code.changed() is None
    file.write_text("one = 22\n")
    assert code.changed() == str(file)


def answer(messages: list[object]) -> int | None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
        return client._exit_code(ours)
