"""The C99 file compiles without a warning, needs nothing, and acts as NumPy does."""

import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from kodex.cli import main
from kodex.errors import InputError
from kodex.export import c_source, program_of, samples_of
from kodex.export.c import FLAGS, Compiled, compiler
from kodex.policies import save
from tests.export.policies import KINDS, SINGLE, made

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler here")


def compiled(kind, precision="float64"):
    policy = made(kind)
    samples, program = samples_of(policy), program_of(policy)
    return Compiled(c_source(program, samples, precision), program, precision), samples


@pytest.mark.parametrize("kind", KINDS)
def test_c_acts_as_numpy(kind):
    library, samples = compiled(kind)
    scale = np.abs(samples.actions).max()
    assert library.difference(samples) <= 1e-12 * scale
    assert library.self_test() <= 1e-12 * scale


def test_a_network_in_single_precision_differs_by_its_rounding():
    library, samples = compiled(SINGLE)
    assert library.difference(samples) <= 1e-5 * np.abs(samples.actions).max()


@pytest.mark.parametrize("kind", KINDS[:2])
def test_single_precision_is_near(kind):
    library, samples = compiled(kind, "float32")
    assert 0.0 < library.difference(samples) <= 1e-3 * np.abs(samples.actions).max()


def test_episodes_do_not_touch_each_other():
    library, samples = compiled("set3 with context")
    first = library.difference(samples)
    library.reset(samples.states[0, 5], samples.context[1])
    library.step(samples.states[1, 3])
    assert library.difference(samples) == first


def test_what_is_converted_lives_until_the_call_is_over(monkeypatch):
    library, samples = compiled(KINDS[0], "float32")
    original = library._function

    def after_memory_was_taken(name, result=None):
        function, size = original(name, result), samples.states.shape[-1]

        def call(*arguments):
            taken = [np.full(size, np.nan, dtype=np.float32) for _ in range(50)]
            return function(*arguments), taken

        return call

    monkeypatch.setattr(library, "_function", after_memory_was_taken)
    assert library.difference(samples) <= 1e-3


def test_the_self_test_notices_another_policy():
    policy = made("bc")
    samples, program = samples_of(policy), program_of(policy)
    wrong = samples._replace(actions=samples.actions + 0.25)
    assert Compiled(c_source(program, wrong), program).self_test() == pytest.approx(0.25)


def test_it_allocates_nothing_and_includes_only_math():
    source = c_source(program_of(made("bc")), samples_of(made("bc")))
    assert re.findall(r"^#include (\S+)", source, re.MULTILINE) == ["<stddef.h>", "<math.h>"]
    assert not re.search(r"\b(malloc|calloc|realloc|alloca|free)\b", source)


def test_another_file_can_declare_and_call_it(tmp_path):
    policy = made("bc with context")
    (tmp_path / "policy.c").write_text(c_source(program_of(policy), samples_of(policy)))
    (tmp_path / "robot.c").write_text(
        "#define POLICY_DECLARATIONS_ONLY\n"
        '#include "policy.c"\n'
        "#include <stdio.h>\n"
        "static policy_policy robot;\n"
        'int main(void) { printf("%g", policy_self_test(&robot)); return 0; }\n'
    )
    program = tmp_path / "robot"
    files = [str(tmp_path / name) for name in ("policy.c", "robot.c")]
    subprocess.run([compiler(), *FLAGS, *files, "-o", str(program), "-lm"], check=True)
    answer = subprocess.run([program], capture_output=True, text=True, check=True)
    assert float(answer.stdout) < 1e-12


def test_the_verb_writes_checks_and_keeps_what_is_there(tmp_path, capsys):
    save(made("bc"), tmp_path / "skill")
    words = ["export", str(tmp_path / "skill"), "--to", "c", "-o", str(tmp_path / "skill.c")]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "differs from NumPy by at most" in printed
    found = re.search(r"at most (\S+);", printed)[1]
    assert f"where it was written, was {found}." in (tmp_path / "skill.c").read_text()
    assert main(words) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*words, "--replace"]) == 0


def test_a_network_in_single_precision_can_be_exported(tmp_path, capsys):
    save(made(SINGLE), tmp_path / "skill")
    path = tmp_path / "skill.c"
    assert main(["export", str(tmp_path / "skill"), "--to", "c", "-o", str(path)]) == 0
    assert path.is_file() and "NumPy's own rounding is" in capsys.readouterr().out


def test_what_does_not_compile_is_refused():
    program = program_of(made("bc"))
    with pytest.raises(InputError, match="refused the policy"):
        Compiled("int broken(", program)


def test_a_name_cannot_end_the_comment_that_it_stands_in():
    hostile = ["*/ int evil; /*", "a\\", "b\nint evil;", "??/", "°"]
    program = program_of(made("bc"))
    source = c_source(replace(program, context_names=tuple(hostile)), samples_of(made("bc")))
    assert "int evil;" not in source.replace("_ int evil; _", "")
    assert "\\\n" not in source
