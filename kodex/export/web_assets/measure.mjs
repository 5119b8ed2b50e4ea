// Node: run episodes of the page's own simulation, and print how they ended as JSON.
// Usage: node measure.mjs SITE TASK EPISODES

import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [site, task, episodes] = [resolve(process.argv[2]), process.argv[3], Number(process.argv[4])];
const load = (name) => import(pathToFileURL(join(site, name)).href);
const { Simulation } = await load("simulation.js");
const { default: loadMujoco } = await load("lib/mujoco.js");
const read = async (name) => new Uint8Array(await readFile(join(site, "tasks", task, name)));
const simulation = await Simulation.load(await loadMujoco(), read);
const began = performance.now();
const ended = simulation.info.starts.in.slice(0, episodes).map((start) => simulation.episode(start));
const seconds = (performance.now() - began) / 1000;
const simulated = ended.length * (simulation.info.horizon - 1) * 0.01;
console.log(JSON.stringify({ ended, times_real_time: simulated / seconds }));
