"""The verbs about experts, as a user types them."""

import numpy as np
import pytest

from kodex.cli import main
from kodex.demonstrations import read
from kodex.tasks import TASKS


def test_collect_writes_a_file_and_says_how_many_were_tried(tmp_path, capsys):
    file = tmp_path / "door.h5"
    assert main(["collect", "door", "--episodes", "3", "--seed", "1", "-o", str(file)]) == 0
    assert "kept 3 of" in capsys.readouterr().out
    assert [episode.succeeded for episode in read(file)] == [True] * 3
    assert main(["collect", "door", "--episodes", "3", "-o", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_collect_refuses_an_unknown_task_and_an_unknown_variation(tmp_path, capsys):
    file = str(tmp_path / "door.h5")
    assert main(["collect", "dor", "-o", file]) == 2
    assert "did you mean door?" in capsys.readouterr().err
    assert main(["collect", "door", "--variation", "icy", "-o", file]) == 2
    assert "heavy-hand" in capsys.readouterr().err


def test_experts_lists_every_task(capsys):
    assert main(["experts"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in TASKS)
    assert "kodex train-expert" in listed


def test_an_expert_is_trained_from_a_folder_of_arrays_and_goes_on(tmp_path, capsys):
    random = np.random.default_rng(0)
    np.savez(
        tmp_path / "door.npz",
        observations=random.normal(size=(2, 8, 39)),
        actions=random.uniform(-0.2, 0.2, (2, 7, 28)),
    )
    run = str(tmp_path / "run")
    words = ["train-expert", "door", "--demonstrations", str(tmp_path), "-o", run, "--hidden", "4"]
    words += ["--episodes", "2", "--validation-episodes", "2", "--test-episodes", "2"]
    for iterations in ("1", "2"):
        assert main([*words, "--cloning-epochs", "1", "--iterations", iterations]) == 0
    answer = capsys.readouterr()
    assert "2: return" in answer.err
    assert "1: return" in answer.err
    assert "success in of distribution" not in answer.out
    assert "in distribution" in answer.out


def test_options_of_kodex_0_1_mean_what_they_meant(tmp_path, capsys):
    words = ["train-expert", "door", "--demonstrations", str(tmp_path), "-o", str(tmp_path / "run")]
    words += ["--initial-deviation", "0.1", "--smallest-deviation=0.2"]
    with pytest.raises(SystemExit):
        main(words)
    assert "found 0.2 and 0.1" in " ".join(capsys.readouterr().err.split())


def test_demonstrations_of_another_task_are_refused(tmp_path, capsys):
    file = tmp_path / "pen.npz"
    np.savez(file, observations=np.zeros((2, 8, 45)), actions=np.zeros((2, 7, 24)))
    words = ["train-expert", "door", "--demonstrations", str(file), "-o", str(tmp_path / "run")]
    assert main(words) == 2
    assert "is it of another task?" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
