// A policy as `kodex.export.program` describes it: a list of vector operations on arrays.

const BINARY = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  filled: (a, b) => (Number.isNaN(a) ? b : a),
};
const UNARY = {
  cos: Math.cos,
  exp: Math.exp,
  relu: (x) => (x > 0 ? x : 0),
  tanh: Math.tanh,
  root: Math.sqrt,
  known: (x) => (Number.isNaN(x) ? 0 : 1),
};

export class Policy {
  // description: the JSON of the program; numbers: a Float64Array with all its arrays.
  constructor(description, numbers) {
    this.description = description;
    this.values = description.vectors.map(({ size }) => new Float64Array(size));
    this.arrays = description.vectors.map((vector) =>
      (vector.numbers ?? []).map(([offset, length]) => numbers.subarray(offset, offset + length)),
    );
    description.vectors.forEach((vector, at) => {
      if (vector.op === "constant") this.values[at].set(this.arrays[at][0]);
    });
    this.memory = new Float64Array(description.vectors[description.memory].size);
  }

  // Begin an episode in `state`; `context` holds the numbers that the policy must be given.
  reset(state, context = []) {
    const { description } = this;
    this.values[description.state].set(state);
    this.values[description.context].set(context);
    this.#run(description.begin);
    this.memory.set(this.values[description.first_memory]);
  }

  // Return the action for `state`, and go on by one step.
  step(state) {
    const { description } = this;
    this.values[description.state].set(state);
    this.values[description.memory].set(this.memory);
    this.#run(description.step);
    this.memory.set(this.values[description.next_memory]);
    return this.values[description.action];
  }

  #run(order) {
    for (const at of order) this.#compute(at);
  }

  #compute(at) {
    const { op, inputs = [], indices, limit } = this.description.vectors[at];
    const out = this.values[at];
    const [one, other] = inputs.map((input) => this.values[input]);
    if (op in BINARY) {
      const f = BINARY[op];
      for (let i = 0; i < out.length; i++) out[i] = f(one[i], other[i]);
    } else if (op in UNARY) {
      const f = UNARY[op];
      for (let i = 0; i < out.length; i++) out[i] = f(one[i]);
    } else if (op === "clip") {
      for (let i = 0; i < out.length; i++) out[i] = Math.max(-limit, Math.min(limit, one[i]));
    } else if (op === "take") {
      for (let i = 0; i < out.length; i++) out[i] = one[indices[i]];
    } else if (op === "join") {
      let filled = 0;
      for (const input of inputs) {
        out.set(this.values[input], filled);
        filled += this.values[input].length;
      }
    } else if (op === "affine") {
      const [matrix, offset] = this.arrays[at];
      const columns = one.length;
      for (let i = 0; i < out.length; i++) {
        let sum = offset[i];
        for (let j = 0, row = i * columns; j < columns; j++) sum += matrix[row + j] * one[j];
        out[i] = sum;
      }
    } else if (op === "nearest") {
      this.#nearest(at, one, out);
    } else if (op !== "constant" && op !== "input") {
      throw new Error(`unknown operation ${op}`);
    }
  }

  // The mean action of the nearest states, each weighed by the inverse of its distance.
  #nearest(at, state, out) {
    const { limit, count } = this.description.vectors[at];
    const [states, actions] = this.arrays[at];
    const found = []; // [squared distance, sample], the nearest first
    for (let sample = 0, row = 0; row < states.length; sample++, row += state.length) {
      let square = 0;
      for (let i = 0; i < state.length; i++) square += (state[i] - states[row + i]) ** 2;
      if (found.length === count && square >= found[count - 1][0]) continue;
      let place = found.length;
      while (place > 0 && found[place - 1][0] > square) place--;
      found.splice(place, 0, [square, sample]);
      if (found.length > count) found.pop();
    }
    const weights = found.map(([square]) => 1 / Math.max(Math.sqrt(square), limit));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    out.fill(0);
    found.forEach(([, sample], rank) => {
      const [share, row] = [weights[rank] / total, sample * out.length];
      for (let i = 0; i < out.length; i++) out[i] += share * actions[row + i];
    });
  }
}
