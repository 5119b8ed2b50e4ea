// The page: plays episodes one after another, counts successes, and lets a visitor choose starts.

import loadMujoco from "./lib/mujoco.js";
import { Drawing } from "./drawing.js";
import { Simulation } from "./simulation.js";

const REST = 0.9; // seconds that the end of an episode is shown
const $ = (id) => document.getElementById(id);
const percent = (share) => `${+(100 * share).toFixed(1)} %`;

const [mujoco, tasks] = await Promise.all([
  loadMujoco(),
  fetch("tasks.json").then((answer) => answer.json()),
]);
const drawing = new Drawing($("scene"));
const loaded = new Map(); // name -> { simulation, succeeded, ended, counted }
let now = null; // the one that is shown
let paused = false;
let owed = 0;
let rested = 0;
let last = performance.now();

for (const { name, title } of tasks) {
  const button = document.createElement("button");
  button.textContent = title;
  button.dataset.task = name;
  button.onclick = () => open(name);
  $("tasks").append(button);
}
if (tasks.length < 2) $("tasks").hidden = true;

async function open(name) {
  $("state").textContent = "Loading…";
  if (!loaded.has(name)) {
    const read = async (path) => {
      const answer = await fetch(`tasks/${name}/${path}`);
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
      return new Uint8Array(await answer.arrayBuffer());
    };
    loaded.set(name, { simulation: await Simulation.load(mujoco, read), succeeded: 0, ended: 0 });
  }
  now = loaded.get(name);
  for (const button of $("tasks").children) {
    if (button.dataset.task === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  drawing.show(now.simulation);
  describe(now.simulation);
  begin(drawn("in"), true);
}

function describe({ info, task }) {
  $("title").textContent = info.title;
  $("rule").textContent = task.rule;
  const { python, agreement } = info;
  $("facts").textContent =
    `Learned from demonstrations by the recipe ${info.recipe}. In Python it succeeded in ` +
    `${python.succeeded} of ${python.episodes} episodes: ${percent(python.succeeded / python.episodes)} ` +
    `[${(100 * python.low).toFixed(0)}, ${(100 * python.high).toFixed(0)}].`;
  $("agreement").textContent = agreement
    ? `This page runs MuJoCo ${agreement.mujoco_here}, Python ran ${agreement.mujoco_python}: the ` +
      `outcome was the same from ${agreement.same} of ${agreement.episodes} starts, and half of the ` +
      `episodes ended within ${agreement.median_difference.toPrecision(1)} of each other. The page's ` +
      `model has one contact per pair of shapes; with that model in Python the outcome was the same ` +
      `from ${agreement.same_model}.`
    : "How well this page agrees with Python has not been measured.";
  $("sliders").replaceChildren(...info.start_names.map(slider));
}

function slider(name, at) {
  const row = document.createElement("label");
  row.className = "row";
  const [low, high] = now.simulation.info.ranges[at];
  row.innerHTML = `<span></span><input type="range" min="${low}" max="${high}" step="any"><output></output>`;
  row.firstChild.textContent = name.replaceAll("_", " ");
  row.children[1].oninput = (event) => {
    const values = [...now.simulation.start];
    values[at] = Number(event.target.value);
    begin(values, false);
  };
  return row;
}

function drawn(distribution) {
  const starts = now.simulation.info.starts[distribution];
  return starts[Math.floor(Math.random() * starts.length)];
}

// Begin an episode; only starts that were drawn as in training are counted.
function begin(values, counted) {
  now.simulation.reset(values);
  now.counted = counted;
  owed = rested = 0;
  $("outcome").textContent = "";
  [...$("sliders").children].forEach((row, at) => {
    row.children[1].value = values[at];
    row.children[2].textContent = values[at].toFixed(2);
  });
}

function end() {
  const good = now.simulation.succeeded;
  if (now.counted) {
    now.ended += 1;
    now.succeeded += good ? 1 : 0;
  }
  $("outcome").textContent = good ? "success" : "failed";
  $("outcome").className = good ? "good" : "bad";
}

// Wilson's 95 % interval of k successes in n.
function interval(k, n) {
  const z = 1.959963984540054;
  const centre = (k + (z * z) / 2) / (n + z * z);
  const half = (z / (n + z * z)) * Math.sqrt((k * (n - k)) / n + (z * z) / 4);
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}

function speed() {
  return 2 ** Number($("speed").value);
}

function tell() {
  const { simulation, succeeded, ended } = now;
  const { text, share } = simulation.task.show(simulation.progress.at(-1));
  const filled = Math.max(0, Math.min(1, 0.8 * share));
  $("bar").style.width = `${100 * filled}%`;
  $("bar").className = share >= 1 ? "good" : "";
  $("progress").textContent = text;
  const seconds = (simulation.progress.length - 1) / 100;
  $("state").textContent =
    `${seconds.toFixed(2)} s · ${simulation.microseconds.toFixed(0)} µs per action`;
  $("speed-value").textContent = speed() < 1 ? `1/${1 / speed() < 10 ? +(1 / speed()).toFixed(1) : 8}` : `${speed().toFixed(0)} ×`;
  if (ended > 0) {
    const [low, high] = interval(succeeded, ended);
    $("counter").textContent =
      `${succeeded} of ${ended}: ${percent(succeeded / ended)} ` +
      `[${(100 * low).toFixed(0)}, ${(100 * high).toFixed(0)}]`;
  } else {
    $("counter").textContent = "no episode has ended yet";
  }
}

function frame(time) {
  const passed = Math.min(0.1, (time - last) / 1000);
  last = time;
  if (now !== null) {
    const { simulation } = now;
    if (!paused && !simulation.ended) {
      owed += passed * speed();
      while (owed >= 0.01 && !simulation.ended) {
        simulation.step();
        owed -= 0.01;
      }
      if (simulation.ended) end();
    } else if (!paused) {
      rested += passed;
      if (rested > REST) begin(drawn("in"), true);
    }
    tell();
    drawing.draw();
  }
  requestAnimationFrame(frame);
}

$("another").onclick = () => begin(drawn("in"), true);
$("outside").onclick = () => begin(drawn("out"), false);
$("pause").onclick = () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  $("pause").textContent = paused ? "Go on" : "Pause";
};
let pressed = null;
$("scene").addEventListener("pointerdown", (event) => (pressed = [event.clientX, event.clientY]));
$("scene").addEventListener("pointerup", (event) => {
  const moved = pressed ? Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) : 9;
  if (moved < 4 && now !== null) begin(drawn("in"), true);
});

// For tests and the curious: whole episodes without waiting, from the given starts.
window.kodex = {
  tasks,
  open,
  get simulation() {
    return now?.simulation ?? null;
  },
  measure: (starts) => {
    const ended = starts.map((start) => now.simulation.episode(start));
    begin(drawn("in"), true);
    return ended;
  },
};
await open(new URLSearchParams(location.search).get("task") ?? tasks[0].name);
requestAnimationFrame(frame);
