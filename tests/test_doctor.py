"""`kodex doctor` says what is here, and what each missing thing costs."""

import os
import subprocess
import sys

from kodex.cli.doctor import REQUIRED, examine, installed


def run_doctor(**environment):
    answer = subprocess.run(
        [sys.executable, "-m", "kodex", "doctor"],
        env={**os.environ, "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stderr == ""
    return answer.stdout


def test_everything_required_is_listed_with_its_version():
    found = {finding.thing: finding.found for finding in examine()}
    for package in REQUIRED:
        assert found[package] == installed(package)


def test_a_missing_library_comes_with_its_cost_and_the_command_that_gets_it():
    said = run_doctor(PYOPENGL_PLATFORM="glx")  # which neither EGL nor OSMesa agrees to
    assert "No videos and no pictures" in said
    assert "apt-get install libegl1 libgl1-mesa-dri" in said


def test_gl_that_was_switched_off_is_not_called_missing():
    said = run_doctor(MUJOCO_GL="off")
    assert "switched off by MUJOCO_GL" in said
    assert "apt-get" not in said


def test_whatever_costs_something_can_be_helped_or_is_a_fact_of_the_machine():
    for finding in examine():
        if finding.cost is not None:
            assert finding.remedy is not None or finding.thing in ("cores", "memory")


def test_a_package_that_nobody_wrote_is_not_installed():
    assert installed("kodex-no-such-package") is None
