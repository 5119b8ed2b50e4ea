"""A policy as an ONNX graph with its session state explicit: for runtimes without Python.

Inputs are `state`, and where the policy has them `context`, `memory` and `episode_start`; outputs
are `action` and `next_memory`. Where `episode_start` is true, the memory is made anew of state and
context, whatever was given for it. The batch axis is free, so rows are robots.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from kodex import __version__
from kodex.errors import MissingFeatureError, install_command
from kodex.export.program import Program, Vector, in_order
from kodex.export.samples import Precision, Samples, largest_difference
from kodex.trajectory import Array

OPSET, IR_VERSION = 17, 10
NODES = {  # operations of a program that are one of ONNX's
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "cos": "Cos",
    "exp": "Exp",
    "relu": "Relu",
    "tanh": "Tanh",
    "root": "Sqrt",
}


def onnx_model(program: Program, samples: Samples, precision: Precision = "float32") -> Any:
    """Return the checked ModelProto of `program`; its metadata say how near it is to NumPy."""
    onnx = _onnx()
    model = _Graph(program, precision).model()
    difference = onnx_difference(model.SerializeToString(), samples)
    facts = {
        "task": program.name,
        "state_names": json.dumps(program.layout.names),
        "context_names": json.dumps(program.context_names),
        "seconds_per_step": repr(program.time_step),  # None: the demonstrations did not say
        "calls_per_step": repr(program.substeps),
        "action_range": json.dumps(program.action_range),
        "largest_difference_to_numpy": repr(difference),
        "kodex": __version__,
    }
    onnx.helper.set_model_props(model, facts)
    onnx.checker.check_model(model, full_check=True)
    return model


class OnnxSession:
    """An exported policy in onnxruntime, driving a batch of episodes."""

    def __init__(self, model: bytes) -> None:
        try:
            import onnxruntime
        except ModuleNotFoundError:
            raise _missing() from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        inputs = {each.name: each for each in self._session.get_inputs()}
        self._dtype = np.float64 if inputs["state"].type == "tensor(double)" else np.float32
        self._names = tuple(inputs)
        self._memory_size = inputs["memory"].shape[1] if "memory" in inputs else 0
        self._feed: dict[str, Any] = {}

    def reset(self, episodes: int, context: Array) -> None:
        """Begin as many episodes, which the next `step` gives their first states."""
        self._feed = {
            "context": context.astype(self._dtype),
            "memory": np.zeros((episodes, self._memory_size), self._dtype),
            "episode_start": np.ones((episodes, 1), dtype=bool),
        }

    def step(self, state: Array) -> Array:
        """Return actions, (episodes, n) -> (episodes, m)."""
        self._feed["state"] = state.astype(self._dtype)
        feed = {name: self._feed[name] for name in self._names}
        action, *memory = self._session.run(None, feed)
        if memory:
            self._feed["memory"] = memory[0]
            self._feed["episode_start"] = np.zeros((len(state), 1), dtype=bool)
        return np.asarray(action, dtype=np.float64)


def onnx_difference(model: bytes, samples: Samples) -> float:
    """Return the largest difference to the actions of `samples`, as onnxruntime computes them."""
    session = OnnxSession(model)
    session.reset(len(samples.states), samples.context)
    actions = [session.step(samples.states[:, at]) for at in range(samples.states.shape[1])]
    return largest_difference(np.stack(actions, axis=1), samples.actions)


class _Graph:
    """The nodes and numbers of one program, written one after another."""

    def __init__(self, program: Program, precision: Precision) -> None:
        self.onnx, self.program, self.dtype = _onnx(), program, np.dtype(precision)
        self.kind = self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype)
        self.nodes: list[Any] = []
        self.numbers: list[Any] = []
        self.names: dict[Vector, str] = {program.state: "state", program.context: "context"}

    def model(self) -> Any:
        """Return the graph as a model."""
        helper, program = self.onnx.helper, self.program
        real = self.kind
        info = helper.make_tensor_value_info
        inputs = [info("state", real, ["batch", program.state.size])]
        outputs = [info("action", real, ["batch", program.action.size])]
        if program.context.size:
            inputs.append(info("context", real, ["batch", program.context.size]))
        if program.memory.size:
            inputs.append(info("memory", real, ["batch", program.memory.size]))
            boolean = self.onnx.TensorProto.BOOL
            inputs.append(info("episode_start", boolean, ["batch", 1]))
            outputs.append(info("next_memory", real, ["batch", program.memory.size]))
            first = self.written(program.first_memory)
            self.names[program.memory] = self.node("Where", "episode_start", first, "memory")
        self.nodes.append(helper.make_node("Identity", [self.written(program.action)], ["action"]))
        if program.memory.size:
            after = self.written(program.next_memory)
            self.nodes.append(helper.make_node("Identity", [after], ["next_memory"]))
        graph = helper.make_graph(
            self.nodes, f"kodex_{program.name}", inputs, outputs, self.numbers
        )
        opset = [helper.make_opsetid("", OPSET)]
        return helper.make_model(
            graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="kodex"
        )

    def written(self, output: Vector) -> str:
        """Return the name of `output`, after all that it is made of was written."""
        for vector in in_order([output]):
            if vector not in self.names:
                self.names[vector] = self.one(vector)
        return self.names[output]

    def one(self, vector: Vector) -> str:
        """Write one operation, and return the name of what it makes."""
        names = [self.names[each] for each in vector.inputs]
        match vector.op:
            case "constant":
                return self.array(vector.numbers[0])
            case "join":
                parts = [
                    self.spread(name, each.size) if each.op == "constant" else name
                    for each, name in zip(vector.inputs, names, strict=True)
                ]
                return self.node("Concat", *parts, axis=-1)
            case "take":
                assert vector.indices is not None
                return self.node("Gather", *names, self.array(vector.indices), axis=-1)
            case "affine":
                matrix, offset = vector.numbers
                product = self.node("MatMul", *names, self.array(matrix.T))
                return self.node("Add", product, self.array(offset)) if offset.any() else product
            case "clip":  # not Clip: onnxruntime cannot join one in float64 with a Relu before it
                low, high = (self.array(np.array(sign * vector.limit)) for sign in (-1.0, 1.0))
                return self.node("Min", self.node("Max", *names, low), high)
            case "known":
                present = self.node("Not", self.node("IsNaN", *names))
                return self.node("Cast", present, to=self.kind)
            case "filled":
                value, other = names
                return self.node("Where", self.node("IsNaN", value), other, value)
            case "nearest":
                return self.nearest(vector, names[0])
        return self.node(NODES[vector.op], *names)

    def nearest(self, vector: Vector, name: str) -> str:
        """Write the mean action of the nearest states, all of them compared at once."""
        states, actions = (self.array(each) for each in vector.numbers)
        last, middle, count = (self.array(np.array([each])) for each in (-1, 1, vector.count))
        apart = self.node("Sub", self.node("Unsqueeze", name, middle), states)
        squares = self.node("ReduceSum", self.node("Mul", apart, apart), last, keepdims=0)
        found, indices = self.nodes_of("TopK", (squares, count), 2, axis=-1, largest=0)
        distances = self.node("Max", self.node("Sqrt", found), self.array(np.array(vector.limit)))
        weights = self.node("Reciprocal", distances)
        shares = self.node("Div", weights, self.node("ReduceSum", weights, last, keepdims=1))
        chosen = self.node("Gather", actions, indices, axis=0)
        weighed = self.node("Mul", chosen, self.node("Unsqueeze", shares, last))
        return self.node("ReduceSum", weighed, middle, keepdims=0)

    def spread(self, name: str, size: int) -> str:
        """Repeat a constant for every row of the batch."""
        rows = self.node("Shape", "state", start=0, end=1)
        shape = self.node("Concat", rows, self.array(np.array([size])), axis=0)
        return self.node("Expand", name, shape)

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Write a node, and return the name of its output."""
        return self.nodes_of(op, inputs, 1, **attributes)[0]

    def nodes_of(self, op: str, inputs: Sequence[str], outputs: int, **given: Any) -> list[str]:
        """Write a node of several outputs, and return their names."""
        names = [f"{op.lower()}_{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(op, inputs, names, **given))
        return names

    def array(self, values: Any) -> str:
        """Write numbers, and return their name."""
        kind = np.int64 if np.issubdtype(values.dtype, np.integer) else self.dtype
        name = f"numbers_{len(self.numbers)}"
        self.numbers.append(self.onnx.numpy_helper.from_array(values.astype(kind), name))
        return name


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ModuleNotFoundError:
        raise _missing() from None
    return onnx


def _missing() -> MissingFeatureError:
    return MissingFeatureError(
        f"ONNX needs the packages onnx and onnxruntime: {install_command('onnx')}"
    )
