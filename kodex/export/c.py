"""A policy as one C99 file that needs nothing: for microcontrollers and real-time loops.

The file has `NAME_reset` and `NAME_step`. The memory of an episode and the scratch space live in a
struct that the caller owns, so nothing is allocated and any number of robots can be driven. It also
holds a few states with the actions that NumPy computed for them; `NAME_self_test` returns the
largest difference on the machine where it runs.
"""

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex import __version__
from kodex.errors import InputError
from kodex.export.program import Program, Vector, in_order
from kodex.export.samples import Precision, Samples, largest_difference
from kodex.trajectory import Array

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O3")
TESTED_STATES = 3  # that the file holds with their actions


def c_source(
    program: Program,
    samples: Samples,
    precision: Precision = "float64",
    difference: float | None = None,
) -> str:
    """Return the C99 file of `program`; `samples` give the states of its self-test.

    `difference` is what was measured between a compiled file and NumPy, if anything was.
    """
    name, real = identifier(program.name), "double" if precision == "float64" else "float"
    text = _Text(name, real)
    begin = text.body(
        {program.first_memory: "policy->memory"},
        {program.state: "state", program.context: "context"},
    )
    step = text.body(
        {program.action: "action", program.next_memory: "policy->memory"},
        {program.state: "state", program.memory: "policy->memory"},
    )
    states = samples.states[0, :TESTED_STATES]
    context = samples.context[0] if program.context.size else np.zeros(1)
    tests = [
        text.table(values)
        for values in (states.ravel(), context, samples.actions[0, :TESTED_STATES].ravel())
    ]
    return TEMPLATE.substitute(
        name=name,
        NAME=name.upper(),
        version=__version__,
        real=real,
        states=program.layout.size,
        contexts=program.context.size,
        actions=program.action.size,
        memory=max(1, program.memory.size),
        work=max(1, text.work),
        checked="was not measured" if difference is None else f"was {difference:.1e}",
        often="once" if program.substeps == 1 else f"{program.substeps} times",
        action_range=_range(program),
        missing="\n * NaN is what was not measured;" if program.accepts_missing else "",
        state_names=_listed(program.layout.names),
        context_names=_listed(program.context_names) if program.context_names else "none: NULL",
        tables="\n".join(text.tables),
        kernels="".join(text.kernels.values()),
        begin="\n".join(begin),
        step="\n".join(step),
        tested=len(states),
        test_states=tests[0],
        test_context=tests[1],
        test_actions=tests[2],
    )


@dataclass
class _Text:
    """What has been written so far: tables of numbers, kernels, and how much scratch is needed."""

    name: str
    real: str
    work: int = 0
    tables: list[str] = field(default_factory=list)
    arrays: list[NDArray[Any]] = field(default_factory=list)  # of the tables
    kernels: dict[str, str] = field(default_factory=dict)

    def body(self, outputs: dict[Vector, str], inputs: dict[Vector, str]) -> list[str]:
        """Return the statements that compute `outputs` from `inputs`, and copy them out."""
        at, lines, used = dict(inputs), [], 0
        for vector in in_order(list(outputs)):
            if vector in at or vector.size == 0:
                continue
            if vector.op == "constant":
                at[vector] = self.table(vector.numbers[0])
                continue
            at[vector], used = f"policy->work + {used}", used + vector.size
            scratch = f"policy->work + {used}"
            used += 2 * vector.count  # distances and indices of the nearest states so far
            lines += self._statements(vector, at, scratch)
        self.work = max(self.work, used)
        changed = [each for each in outputs if each.size and outputs[each] != at[each]]
        return lines + [
            self._call("copy", outputs[each], at[each], str(each.size)) for each in changed
        ]

    def _statements(self, vector: Vector, at: dict[Vector, str], scratch: str) -> list[str]:
        target, size = at[vector], str(vector.size)
        sources = [at[each] for each in vector.inputs]
        match vector.op:
            case "join":
                begins = np.cumsum([0, *(each.size for each in vector.inputs)])
                return [
                    self._call("copy", f"{target} + {begin}", at[each], str(each.size))
                    for begin, each in zip(begins, vector.inputs, strict=False)
                ]
            case "take":
                assert vector.indices is not None
                return [self._call("take", target, *sources, self.table(vector.indices), size)]
            case "affine":
                matrix, offset = (self.table(each) for each in vector.numbers)
                inputs = str(vector.inputs[0].size)
                return [self._call("affine", target, *sources, matrix, offset, size, inputs)]
            case "clip":
                limit = repr(float(vector.limit))
                return [self._call("clip", target, *sources, limit, size)]
            case "nearest":
                states, actions = (self.table(each.T) for each in vector.numbers)  # row by row
                samples, inputs = (str(each) for each in vector.numbers[0].shape)
                limit = repr(float(vector.limit)) + ("" if self.real == "double" else "f")
                sizes = (samples, inputs, size, str(vector.count))
                return [
                    self._call("nearest", target, *sources, states, actions, scratch, limit, *sizes)
                ]
        return [self._call(vector.op, target, *sources, size)]

    def _call(self, kernel: str, *arguments: str) -> str:
        suffix = "" if self.real == "double" else "f"
        self.kernels[kernel] = KERNELS[kernel].substitute(
            name=self.name, real=self.real, suffix=suffix
        )
        return f"    {self.name}_{kernel}({', '.join(arguments)});"

    def table(self, values: NDArray[Any]) -> str:
        """Return the name of the table that holds `values`, a matrix column by column."""
        name = f"{self.name}_table_{len(self.arrays)}"
        known = next((n for n, each in enumerate(self.arrays) if each is values), None)
        if known is not None:
            return f"{self.name}_table_{known}"
        self.arrays.append(values)
        whole = np.issubdtype(values.dtype, np.integer)
        kind = "int" if whole else self.real
        numbers = _literals(values.T.ravel(), kind)
        lines = [", ".join(numbers[at : at + 6]) for at in range(0, len(numbers), 6)]
        inside = ",\n    ".join(lines)
        self.tables.append(f"static const {kind} {name}[{len(numbers)}] = {{\n    {inside}\n}};")
        return name


def _literals(values: NDArray[Any], kind: str) -> list[str]:
    """Return numbers as C reads them back exactly: the shortest decimals that do."""
    if kind != "float":
        return [repr(value) for value in values.tolist()]
    single = values.astype(np.float32)
    single[np.abs(single) < np.finfo(np.float32).tiny] = 0.0  # compilers warn of subnormal ones
    return [f"{value}f" for value in single]


def identifier(name: str) -> str:
    """Return `name` as C can hold it."""
    return re.sub(r"\W", "_", name, flags=re.ASCII).lower()


def compiler() -> str | None:
    """Return the C compiler of this machine, if there is one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


class Compiled:
    """A C policy, compiled into a library and called from Python: to check it and to time it."""

    def __init__(self, source: str, program: Program, precision: Precision = "float64") -> None:
        cc = compiler()
        if cc is None:
            raise InputError("there is no C compiler here: install gcc or clang")
        self._name, self._dtype = identifier(program.name), np.dtype(precision)
        self._actions = program.action.size
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "policy.c"
            path.write_text(source)
            library = Path(folder) / "policy.so"
            command = [cc, *FLAGS, "-shared", "-fPIC", str(path), "-o", str(library), "-lm"]
            # The compiler that was found, on a file of a name that is ours.
            answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            if answer.returncode != 0:
                raise InputError(f"the C compiler refused the policy: {answer.stderr[:500]}")
            self._library = ctypes.CDLL(str(library))
        size = self._function("struct_size", ctypes.c_size_t)()
        self._policy = ctypes.create_string_buffer(size)

    def _function(self, name: str, result: type | None = None) -> "ctypes._NamedFuncPointer":
        function = self._library[f"{self._name}_{name}"]
        function.restype = result
        return function

    def reset(self, state: Array, context: Array | None = None) -> None:
        """Begin an episode in `state`, (n,)."""
        first, known = self._converted(state), self._converted(np.empty(0))
        if context is not None:
            known = self._converted(context)
        self._function("reset")(self._policy, _pointer(first), _pointer(known))

    def step(self, state: Array) -> Array:
        """Return the action for `state`, (n,) -> (m,)."""
        measured, action = self._converted(state), np.empty(self._actions, dtype=self._dtype)
        self._function("step")(self._policy, _pointer(measured), _pointer(action))
        return action

    def self_test(self) -> float:
        """Return the largest difference to the actions that the file holds."""
        kind = ctypes.c_double if self._dtype == np.float64 else ctypes.c_float
        return float(self._function("self_test", kind)(self._policy))

    def difference(self, samples: Samples) -> float:
        """Return the largest difference to the actions of `samples`."""
        actions = np.empty_like(samples.actions)
        for states, context, row in zip(samples.states, samples.context, actions, strict=True):
            self.reset(states[0], context)
            for at, state in enumerate(states):
                row[at] = self.step(state)
        return largest_difference(actions, samples.actions)

    def _converted(self, values: Array) -> NDArray[Any]:
        return np.ascontiguousarray(values, dtype=self._dtype)


def _pointer(values: NDArray[Any]) -> ctypes.c_void_p | None:
    """Return where `values` are, which must outlive the call; NULL for none."""
    return ctypes.c_void_p(values.ctypes.data) if values.size else None


def _range(program: Program) -> str:
    """Return in words what whoever executes actions must clip them to."""
    limits = program.action_range
    if limits is None:
        return "their range was not recorded"
    ends = set(zip(*limits, strict=True))
    each = [f"{low:g} to {high:g}" for low, high in zip(*limits, strict=True)]
    return f"clip each to {each[0]}" if len(ends) == 1 else f"clip them to {', '.join(each)}"


def _listed(names: Sequence[str]) -> str:
    """Return names as lines of a comment, which they cannot end: they may be a stranger's."""
    plain = [re.sub(r"[^\w .:()\[\]-]", "_", name, flags=re.ASCII) for name in names]
    lines = [", ".join(plain[at : at + 6]) for at in range(0, len(plain), 6)]
    return ",\n *     ".join(lines)


_ELEMENTWISE = """
static void ${name}_%s(${real} *out, const ${real} *in, int size) {
    int i;
    for (i = 0; i < size; i++) out[i] = %s;
}
"""
_BINARY = """
static void ${name}_%s(${real} *out, const ${real} *one, const ${real} *other, int size) {
    int i;
    for (i = 0; i < size; i++) out[i] = one[i] %s other[i];
}
"""
KERNELS = {
    name: Template(text)
    for name, text in {
        "copy": _ELEMENTWISE % ("copy", "in[i]"),
        "cos": _ELEMENTWISE % ("cos", "cos${suffix}(in[i])"),
        "exp": _ELEMENTWISE % ("exp", "exp${suffix}(in[i])"),
        "relu": _ELEMENTWISE % ("relu", "in[i] > 0 ? in[i] : 0"),
        "tanh": _ELEMENTWISE % ("tanh", "tanh${suffix}(in[i])"),
        "root": _ELEMENTWISE % ("root", "sqrt${suffix}(in[i])"),
        "known": _ELEMENTWISE % ("known", "isnan(in[i]) ? 0 : 1"),
        "filled": """
static void ${name}_filled(${real} *out, const ${real} *in, const ${real} *other, int size) {
    int i;
    for (i = 0; i < size; i++) out[i] = isnan(in[i]) ? other[i] : in[i];
}
""",
        # The nearest so far are kept in order; an equal distance stays behind, as in NumPy.
        "nearest": """
static void ${name}_nearest(${real} *out, const ${real} *in, const ${real} *states,
                            const ${real} *actions, ${real} *scratch, ${real} least, int samples,
                            int inputs, int outputs, int count) {
    ${real} *squares = scratch, *found = scratch + count, total = 0;
    int sample, i, at, kept = 0;
    for (sample = 0; sample < samples; sample++) {
        const ${real} *state = states + (size_t)sample * (size_t)inputs;
        ${real} square = 0;
        for (i = 0; i < inputs; i++) square += (in[i] - state[i]) * (in[i] - state[i]);
        if (kept == count && square >= squares[count - 1]) continue;
        if (kept < count) kept++;
        for (at = kept - 1; at > 0 && squares[at - 1] > square; at--) {
            squares[at] = squares[at - 1];
            found[at] = found[at - 1];
        }
        squares[at] = square;
        found[at] = (${real})sample;
    }
    for (i = 0; i < outputs; i++) out[i] = 0;
    for (at = 0; at < kept; at++) {
        const ${real} distance = sqrt${suffix}(squares[at]);
        const ${real} weight = 1 / (distance > least ? distance : least);
        const ${real} *action = actions + (size_t)found[at] * (size_t)outputs;
        for (i = 0; i < outputs; i++) out[i] += weight * action[i];
        total += weight;
    }
    for (i = 0; i < outputs; i++) out[i] /= total;
}
""",
        "add": _BINARY % ("add", "+"),
        "subtract": _BINARY % ("subtract", "-"),
        "multiply": _BINARY % ("multiply", "*"),
        "divide": _BINARY % ("divide", "/"),
        "clip": """
static void ${name}_clip(${real} *out, const ${real} *in, ${real} limit, int size) {
    int i;
    for (i = 0; i < size; i++) out[i] = in[i] > limit ? limit : in[i] < -limit ? -limit : in[i];
}
""",
        "take": """
static void ${name}_take(${real} *out, const ${real} *in, const int *indices, int size) {
    int i;
    for (i = 0; i < size; i++) out[i] = in[indices[i]];
}
""",
        # Column by column, so that a compiler can use vector instructions without reordering sums.
        "affine": """
static void ${name}_affine(${real} *out, const ${real} *in, const ${real} *matrix,
                           const ${real} *offset, int outputs, int inputs) {
    int i, j;
    for (i = 0; i < outputs; i++) out[i] = offset[i];
    for (j = 0; j < inputs; j++) {
        const ${real} x = in[j];
        const ${real} *column = matrix + (size_t)j * (size_t)outputs;
        for (i = 0; i < outputs; i++) out[i] += column[i] * x;
    }
}
""",
    }.items()
}

TEMPLATE = Template("""\
/* ${name}: a policy that kodex ${version} learned and wrote as C99. It needs nothing but <math.h>.
 *
 *     static ${name}_policy policy;
 *     ${name}_reset(&policy, state, context);    once per episode, with its first state
 *     ${name}_step(&policy, state, action);      ${often} per control step
 *
 * Actions are not clipped: ${action_range}. States hold
 *     ${state_names};${missing}
 * the context holds
 *     ${context_names}.
 * The largest difference to NumPy, where it was written, ${checked}.
 * To use it from another file: #define ${NAME}_DECLARATIONS_ONLY and #include this one.
 */
#ifndef ${NAME}_POLICY
#define ${NAME}_POLICY

#include <stddef.h>

enum {
    ${NAME}_STATE_SIZE = ${states},
    ${NAME}_CONTEXT_SIZE = ${contexts},
    ${NAME}_ACTION_SIZE = ${actions},
    ${NAME}_MEMORY_SIZE = ${memory},
    ${NAME}_WORK_SIZE = ${work}
};

typedef struct {
    ${real} memory[${NAME}_MEMORY_SIZE]; /* of the episode: copy it to keep it */
    ${real} work[${NAME}_WORK_SIZE];
} ${name}_policy;

void ${name}_reset(${name}_policy *policy, const ${real} *state, const ${real} *context);
void ${name}_step(${name}_policy *policy, const ${real} *state, ${real} *action);
/* The largest difference to actions that NumPy computed for a few states; it resets the policy. */
${real} ${name}_self_test(${name}_policy *policy);
size_t ${name}_struct_size(void);

#endif
#ifndef ${NAME}_DECLARATIONS_ONLY

#include <math.h>

${tables}
${kernels}
void ${name}_reset(${name}_policy *policy, const ${real} *state, const ${real} *context) {
    (void)policy;
    (void)state;
    (void)context;
${begin}
}

void ${name}_step(${name}_policy *policy, const ${real} *state, ${real} *action) {
    (void)state;
${step}
}

${real} ${name}_self_test(${name}_policy *policy) {
    ${real} action[${NAME}_ACTION_SIZE], largest = 0;
    int at, i;
    ${name}_reset(policy, ${test_states}, ${test_context});
    for (at = 0; at < ${tested}; at++) {
        ${name}_step(policy, ${test_states} + at * ${NAME}_STATE_SIZE, action);
        for (i = 0; i < ${NAME}_ACTION_SIZE; i++) {
            const ${real} wanted = ${test_actions}[at * ${NAME}_ACTION_SIZE + i];
            const ${real} missed = action[i] > wanted ? action[i] - wanted : wanted - action[i];
            if (!(missed <= largest)) largest = missed;
        }
    }
    return largest;
}

size_t ${name}_struct_size(void) { return sizeof(${name}_policy); }

#endif
""")
