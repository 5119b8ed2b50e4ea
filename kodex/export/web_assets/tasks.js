// What each task is: how a start is placed, what the state holds, and when it has succeeded.
// The same functions as kodex/tasks/*.py; the agreement shown on the page measures that they are.

const difference = (a, b) => a.map((value, i) => value - b[i]);
const length = (a) => Math.hypot(...a);
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

const door = {
  place: (world, values) => world.bodyPosition("frame").set(values),
  state: (world) => [
    ...world.qpos(0, 28),
    ...world.site("S_handle"),
    world.qvel(28, 29)[0],
    ...world.body("frame"),
  ],
  progress: (world) => world.qpos(28, 29)[0],
  succeeded: (progress) => progress.at(-1) > 1.35,
  show: (progress) => ({
    text: `open by ${((progress * 180) / Math.PI).toFixed(0)}°`,
    share: progress / 1.35,
  }),
  rule: "Success: the door is open by more than 77° at the end.",
};

const tool = {
  place: (world, values) => {
    world.bodyPosition("nail_board")[2] = values[0];
  },
  state: (world) => [
    ...world.qpos(0, 26),
    ...world.site("tool"),
    ...eulerAngles(world.quaternion("Object")),
    ...world.qvel(-6).map((value) => Math.max(-1, Math.min(1, value))),
    ...world.site("nail_goal"),
  ],
  progress: (world) => length(difference(world.site("S_target"), world.site("nail_goal"))),
  succeeded: (progress) => progress.at(-1) < 0.01,
  show: (progress) => ({
    text: `the nail has ${(progress * 1000).toFixed(0)} mm to go`,
    share: 0.01 / Math.max(progress, 1e-6),
  }),
  rule: "Success: the nail is within 10 mm of where it must go at the end.",
};

const relocation = {
  place: (world, values) => world.sitePosition("target").set(values),
  state: (world) => [
    ...world.qpos(0, 30),
    ...difference(world.body("Object"), world.site("target")),
    ...world.qpos(33, 36),
    ...world.qvel(30, 36),
  ],
  progress: (world) => length(difference(world.body("Object"), world.site("target"))),
  succeeded: (progress) => progress.filter((value) => value < 0.1).length > 10,
  show: (progress) => ({
    text: `the ball is ${(progress * 100).toFixed(0)} cm from the target`,
    share: 0.1 / Math.max(progress, 1e-6),
  }),
  rule: "Success: the ball is within 10 cm of the target at more than 10 states.",
  target: "target", // a site to draw
};

const reorientation = {
  place: (world, [pitch, yaw]) => {
    const [cp, sp] = [Math.cos(pitch / 2), Math.sin(pitch / 2)];
    const [cy, sy] = [Math.cos(yaw / 2), Math.sin(yaw / 2)];
    world.bodyQuaternion("target").set([cy * cp, cy * sp, sy * cp, sy * sp]);
  },
  state: (world) => {
    const pen = direction(world, "object_top", "object_bottom");
    const frame = goalFrame(direction(world, "target_top", "target_bottom"));
    return [
      ...world.qpos(0, 24),
      ...world.body("Object"),
      ...frame.map((row) => dot(row, pen)),
      ...world.qvel(-6),
    ];
  },
  progress: (world) =>
    dot(
      direction(world, "object_top", "object_bottom"),
      direction(world, "target_top", "target_bottom"),
    ),
  succeeded: (progress) => progress.filter((value) => value > 0.9).length > 10,
  show: (progress) => ({
    text: `the pen is ${((Math.acos(Math.min(1, progress)) * 180) / Math.PI).toFixed(0)}° off`,
    share: (progress + 1) / 1.9,
  }),
  rule: "Success: pen and goal are aligned within 26° at more than 10 states.",
};

function direction(world, top, bottom) {
  const full = length(difference(world.localSite(top), world.localSite(bottom)));
  return difference(world.site(top), world.site(bottom)).map((value) => value / full);
}

function goalFrame(goal) {
  const size = length(goal);
  const x = goal.map((value) => value / size);
  const upright = x[2] < 0 ? -1 : 1;
  let y = [upright * x[2], upright * x[2], upright * (-x[0] - x[1])];
  const long = length(y);
  y = long < 1e-9 ? [0, 0, 1] : y.map((value) => value / long);
  return [x, y, cross(x, y)];
}

function eulerAngles([w, x, y, z]) {
  const scale = 2 / (w * w + x * x + y * y + z * z);
  const r00 = 1 - scale * (y * y + z * z);
  const r11 = 1 - scale * (x * x + z * z);
  const r22 = 1 - scale * (x * x + y * y);
  const r01 = scale * (x * y - w * z);
  const r10 = scale * (x * y + w * z);
  const r02 = scale * (x * z + w * y);
  const r12 = scale * (y * z - w * x);
  const cosine = Math.sqrt(r22 * r22 + r12 * r12);
  const regular = cosine > 4 * Number.EPSILON;
  return [
    regular ? -Math.atan2(r12, r22) : 0,
    -Math.atan2(-r02, cosine),
    regular ? -Math.atan2(r01, r00) : -Math.atan2(-r10, r11),
  ];
}

export const TASKS = { door, tool, relocation, reorientation };
