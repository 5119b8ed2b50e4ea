// One episode of a task in MuJoCo's WASM build, with the policy acting in it.
// It runs in a page and in Node alike: the caller says how a file is read.

import { Policy } from "./policy.js";
import { TASKS } from "./tasks.js";

const number = (constant) => constant.value ?? constant; // enums are objects in some builds

// What a task may read of the running simulation, and write of its model, by name.
class World {
  constructor(mujoco, model, data) {
    Object.assign(this, { mujoco, model, data, ids: new Map() });
  }

  #id(kind, name) {
    const key = `${kind} ${name}`;
    if (!this.ids.has(key)) {
      const found = this.mujoco.mj_name2id(this.model, number(this.mujoco.mjtObj[kind]), name);
      if (found < 0) throw new Error(`the model has no ${key}`);
      this.ids.set(key, found);
    }
    return this.ids.get(key);
  }

  #row(array, kind, name, width) {
    const first = this.#id(kind, name) * width;
    return array.subarray(first, first + width);
  }

  qpos = (first, end) => [...this.data.qpos.subarray(first, end)];
  qvel = (first, end) => [...this.data.qvel.subarray(first, end)];
  site = (name) => [...this.#row(this.data.site_xpos, "mjOBJ_SITE", name, 3)];
  body = (name) => [...this.#row(this.data.xpos, "mjOBJ_BODY", name, 3)];
  quaternion = (name) => [...this.#row(this.data.xquat, "mjOBJ_BODY", name, 4)];
  localSite = (name) => [...this.#row(this.model.site_pos, "mjOBJ_SITE", name, 3)];
  bodyPosition = (name) => this.#row(this.model.body_pos, "mjOBJ_BODY", name, 3);
  bodyQuaternion = (name) => this.#row(this.model.body_quat, "mjOBJ_BODY", name, 4);
  sitePosition = (name) => this.#row(this.model.site_pos, "mjOBJ_SITE", name, 3);
}

export class Simulation {
  // mujoco: the loaded WASM module; read(path) -> Promise<Uint8Array>, relative to the task's folder
  static async load(mujoco, read) {
    const text = async (path) => JSON.parse(new TextDecoder().decode(await read(path)));
    const info = await text("task.json");
    const folder = `/${info.name}`;
    mujoco.FS.mkdirTree(folder);
    const files = ["model.xml", ...info.meshes];
    await Promise.all(
      files.map(async (name) => mujoco.FS.writeFile(`${folder}/${name}`, await read(name))),
    );
    const numbers = await read("policy.bin");
    const policy = new Policy(
      await text("policy.json"),
      new Float64Array(numbers.buffer.slice(numbers.byteOffset, numbers.byteOffset + numbers.byteLength)),
    );
    return new Simulation(mujoco, `${folder}/model.xml`, info, policy);
  }

  constructor(mujoco, path, info, policy) {
    this.mujoco = mujoco;
    this.info = info;
    this.policy = policy;
    this.task = TASKS[info.name];
    this.model = mujoco.MjModel.from_xml_path(path);
    for (const [field, values] of Object.entries(info.exact)) this.model[field].set(values);
    this.data = new mujoco.MjData(this.model);
    this.world = new World(mujoco, this.model, this.data);
    this.reset(info.starts.in[0]);
  }

  reset(values) {
    this.start = values;
    this.task.place(this.world, values);
    this.mujoco.mj_resetData(this.model, this.data);
    this.mujoco.mj_forward(this.model, this.data);
    this.progress = [this.task.progress(this.world)];
    this.failed = false;
    this.acting = 0; // milliseconds so far; a single action is shorter than the clock's tick
    const { context_names, start_names } = this.info;
    const context = context_names.map((name) => values[start_names.indexOf(name)]);
    this.policy.reset(this.task.state(this.world), context);
  }

  get microseconds() {
    return (1000 * this.acting) / Math.max(1, this.progress.length - 1);
  }

  get ended() {
    return this.failed || this.progress.length >= this.info.horizon;
  }

  get succeeded() {
    return !this.failed && this.task.succeeded(this.progress);
  }

  step() {
    let action;
    for (let call = 0; call < this.info.calls; call++) action = this.#act();
    const progress = this.task.progress(this.world);
    this.failed = !Number.isFinite(progress) || !action.every(Number.isFinite);
    this.progress.push(progress);
  }

  // Ask the policy, and simulate until it is asked again; some policies are asked several times.
  #act() {
    const began = performance.now();
    const action = this.policy.step(this.task.state(this.world));
    this.acting += performance.now() - began;
    const { actuator_ctrlrange: range } = this.model;
    for (let i = 0; i < action.length; i++) {
      const [low, high] = [range[2 * i], range[2 * i + 1]];
      const clipped = Math.max(-1, Math.min(1, action[i]));
      this.data.ctrl[i] = (low + high) / 2 + (clipped * (high - low)) / 2;
    }
    const steps = this.info.substeps / this.info.calls;
    for (let i = 0; i < steps; i++) this.mujoco.mj_step(this.model, this.data);
    return action;
  }

  // A whole episode at once: whether it succeeded, and where it ended.
  episode(values) {
    this.reset(values);
    while (!this.ended) this.step();
    return { succeeded: this.succeeded, progress: this.progress.at(-1) };
  }
}
