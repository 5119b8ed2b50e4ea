"""A served policy acts as the policy does, for each robot by itself; it refuses in a sentence."""

import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.policies import Session
from kodex.serving import protocol
from kodex.serving.client import RemotePolicy
from kodex.serving.protocol import Kind
from kodex.serving.server import Server
from tests.export.policies import demonstration, made

CONTEXT = {"side": 0.4}


@contextmanager
def serving(kind="set3 with context", address=("127.0.0.1", 0), deadline=0.01):
    server = Server(made(kind), address, deadline)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


@pytest.fixture
def server():
    with serving() as running:
        yield running


def expected(states, context=CONTEXT, kind="set3 with context"):
    session = Session(made(kind))
    session.reset(states[0], context=context)
    return [session.act(state) for state in states]


def test_a_robot_gets_the_actions_of_the_policy(server):
    states = demonstration(50).states
    with RemotePolicy(("127.0.0.1", server.port)) as robot:
        assert (robot.state_size, robot.context_size, robot.action_size) == (4, 1, 2)
        assert robot.seconds_per_step == 0.01
        robot.reset(states[0], [0.4])
        for state, action in zip(states, expected(states), strict=True):
            np.testing.assert_array_equal(robot.act(state), action)


def test_two_robots_do_not_touch_each_other(server):
    one, other = demonstration(50).states, demonstration(51).states
    with (
        RemotePolicy(("127.0.0.1", server.port)) as first,
        RemotePolicy(("127.0.0.1", server.port)) as second,
    ):
        first.reset(one[0], [0.4])
        second.reset(other[0], [0.4])
        for at, (wanted, besides) in enumerate(zip(expected(one), expected(other), strict=True)):
            np.testing.assert_array_equal(first.act(one[at]), wanted)
            np.testing.assert_array_equal(second.act(other[at]), besides)


def test_a_local_socket_is_for_this_user_alone_and_vanishes(tmp_path):
    path = tmp_path / "policy.sock"
    with serving(address=path), RemotePolicy(path) as robot:
        assert path.stat().st_mode & 0o077 == 0
        robot.reset(np.zeros(4), [0.0])
    assert not path.exists()


def test_what_somebody_put_in_the_place_of_the_socket_stays(tmp_path):
    path = tmp_path / "policy.sock"
    with serving(address=path):
        path.unlink()
        path.write_text("precious")
    assert path.read_text() == "precious"


def test_a_socket_in_use_is_left_alone_and_a_dead_one_replaced(tmp_path):
    path = tmp_path / "policy.sock"
    with serving(address=path), pytest.raises(InputError, match="another server"):
        Server(made("bc"), path)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with serving(address=path), RemotePolicy(path):
        pass


@pytest.mark.parametrize(
    ("state", "context", "sentence"),
    [
        (np.zeros(3), [0.0], "4 numbers of the state and 1 of the context; found 4"),
        (np.full(4, np.nan), [0.0], "not a finite number"),
    ],
)
def test_what_cannot_be_used_is_refused_and_the_robot_can_go_on(server, state, context, sentence):
    with RemotePolicy(("127.0.0.1", server.port)) as robot:
        with pytest.raises(InputError, match=sentence):
            robot.reset(state, context)
        robot.reset(np.zeros(4), [0.0])
        assert np.isfinite(robot.act(np.zeros(4))).all()


def test_a_step_before_a_reset_is_refused(server):
    robot = RemotePolicy(("127.0.0.1", server.port))
    with robot, pytest.raises(InputError, match="reset"):
        robot.act(np.zeros(4))


def test_noise_on_the_line_is_refused_and_others_are_served(server):
    with socket.create_connection(("127.0.0.1", server.port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        kind, body = protocol.receive(stranger)
        assert kind == Kind.REFUSED and b"kdx1" in body
    with RemotePolicy(("127.0.0.1", server.port)) as robot:
        robot.reset(np.zeros(4), [0.0])


def test_missed_deadlines_are_counted():
    with serving(deadline=1e-12) as server, RemotePolicy(("127.0.0.1", server.port)) as robot:
        robot.reset(np.zeros(4), [0.0])
        for _ in range(3):
            robot.act(np.zeros(4))
        robot.reset(np.zeros(4), [0.0])  # answered after the last action was counted
        assert (server.statistics.actions, server.statistics.late) == (3, 3)
        assert "3 missed the deadline" in server.statistics.sentence(server.deadline)


def test_nobody_there_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="start kodex serve first"):
        RemotePolicy(tmp_path / "nothing.sock")


def test_a_port_in_use_is_one_sentence(server):
    with pytest.raises(InputError, match="choose another one"):
        Server(made("bc"), ("127.0.0.1", server.port))


def test_a_port_that_no_machine_has_is_one_sentence():
    with pytest.raises(InputError, match=r"port 99999 .*choose another one"):
        Server(made("bc"), ("127.0.0.1", 99999))


def test_the_bytes_on_the_wire_are_as_documented():
    one, other = socket.socketpair()
    with one, other:
        protocol.send(one, Kind.STEP, np.array([1.0, -2.5]))
        assert other.recv(100) == (
            b"kdx1\x04\x00\x02\x00\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x04\xc0"
        )


def test_the_client_needs_numpy_alone():
    program = (
        "import sys\n"
        "from kodex.serving.client import RemotePolicy\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & "
        "{'scipy', 'mujoco', 'h5py', 'safetensors', 'torch', 'rich', 'tyro', 'matplotlib'}))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
