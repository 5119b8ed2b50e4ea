// The picture: one three.js mesh for each geom of the model, moved as the simulation moves.

import * as THREE from "three";
import { OrbitControls } from "./lib/OrbitControls.js";

const number = (constant) => constant.value ?? constant;
const MOST_GROUP = 2; // MuJoCo draws the groups 0 to 2
// The page has no textures; these stand for what the textures show.
const COLOURS = {
  MatViz: 0xd9a877, MatWood: 0xb5835a, MatWoodR: 0xa8553f, MatWoodG: 0x4f9a63, MatWoodB: 0x8a6142,
  tablecube: 0xd9d5cd, table2d: 0xd9d5cd, MatFoil: 0xbfc6cf, MatSquare: 0xc7ccd3, object: 0x4d9980,
};

export class Drawing {
  constructor(canvas) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    this.renderer.shadowMap.enabled = true;
    this.camera = new THREE.PerspectiveCamera(45, 1, 0.01, 20);
    this.camera.up.set(0, 0, 1);
    this.orbit = new OrbitControls(this.camera, canvas);
    this.canvas = canvas;
  }

  // Show another simulation.
  show(simulation) {
    this.simulation = simulation;
    this.scene = new THREE.Scene();
    this.scene.background = new THREE.Color(0xeef2f6);
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x9aa7b5, 1.9));
    const { lookat, distance, azimuth, elevation } = simulation.info.camera;
    const target = new THREE.Vector3(...lookat);
    const sun = new THREE.DirectionalLight(0xffffff, 1.9);
    sun.position.copy(target).add(new THREE.Vector3(-0.7, -0.9, 1.8));
    sun.target.position.copy(target);
    sun.castShadow = true;
    sun.shadow.mapSize.set(1024, 1024);
    sun.shadow.bias = -0.002;
    Object.assign(sun.shadow.camera, { left: -0.7, right: 0.7, top: 0.7, bottom: -0.7, near: 0.3, far: 5 });
    this.scene.add(sun, sun.target);
    const [turn, rise] = [azimuth, elevation].map((degrees) => (degrees * Math.PI) / 180);
    const away = [-Math.cos(rise) * Math.cos(turn), -Math.cos(rise) * Math.sin(turn), -Math.sin(rise)];
    this.camera.position.copy(target).addScaledVector(new THREE.Vector3(...away), distance);
    this.orbit.target.copy(target);
    this.orbit.update();
    this.parts = [];
    const { model, mujoco } = simulation;
    for (let geom = 0; geom < model.ngeom; geom++) this.#addGeom(mujoco, model, geom);
    this.#addTarget();
  }

  #addGeom(mujoco, model, geom) {
    if (model.geom_group[geom] > MOST_GROUP) return;
    const shape = geometryOf(mujoco, model, geom);
    if (shape === null) return;
    const material = model.geom_matid[geom];
    const rgba = material >= 0
      ? model.mat_rgba.subarray(material * 4, material * 4 + 4)
      : model.geom_rgba.subarray(geom * 4, geom * 4 + 4);
    if (rgba[3] < 0.1) return;
    const name = material >= 0 ? mujoco.mj_id2name(model, number(mujoco.mjtObj.mjOBJ_MATERIAL), material) : "";
    const colour = new THREE.Color(COLOURS[name] ?? new THREE.Color(rgba[0], rgba[1], rgba[2]));
    const mesh = new THREE.Mesh(
      shape,
      new THREE.MeshStandardMaterial({ color: colour, roughness: 0.65, transparent: rgba[3] < 1, opacity: rgba[3] }),
    );
    mesh.castShadow = mesh.receiveShadow = true;
    mesh.matrixAutoUpdate = false;
    this.scene.add(mesh);
    this.parts.push({ mesh, geom });
  }

  #addTarget() {
    const name = this.simulation.task.target;
    if (name === undefined) return;
    this.target = new THREE.Mesh(
      new THREE.SphereGeometry(0.05, 32, 24),
      new THREE.MeshStandardMaterial({ color: 0x2f9e62, transparent: true, opacity: 0.35 }),
    );
    this.scene.add(this.target);
    this.parts.push({ mesh: this.target, site: name });
  }

  draw() {
    const { data, world } = this.simulation;
    const [positions, rotations] = [data.geom_xpos, data.geom_xmat];
    for (const { mesh, geom, site } of this.parts) {
      if (site !== undefined) {
        mesh.position.set(...world.site(site));
        continue;
      }
      const p = positions.subarray(geom * 3, geom * 3 + 3);
      const r = rotations.subarray(geom * 9, geom * 9 + 9);
      mesh.matrix.set(r[0], r[1], r[2], p[0], r[3], r[4], r[5], p[1], r[6], r[7], r[8], p[2], 0, 0, 0, 1);
      mesh.matrixWorldNeedsUpdate = true;
    }
    this.#fit();
    this.renderer.render(this.scene, this.camera);
  }

  #fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    const size = this.renderer.getSize(new THREE.Vector2());
    if (size.x === width && size.y === height) return;
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.fov = width < height ? 58 : 45;
    this.camera.updateProjectionMatrix();
  }
}

function geometryOf(mujoco, model, geom) {
  const kinds = mujoco.mjtGeom;
  const is = (kind) => model.geom_type[geom] === number(kind);
  const [a, b, c] = model.geom_size.subarray(geom * 3, geom * 3 + 3);
  const upright = (shape) => shape.rotateX(Math.PI / 2); // three's axis is y, MuJoCo's is z
  if (is(kinds.mjGEOM_MESH)) return meshOf(model, model.geom_dataid[geom]);
  if (is(kinds.mjGEOM_BOX)) return new THREE.BoxGeometry(2 * a, 2 * b, 2 * c);
  if (is(kinds.mjGEOM_SPHERE)) return new THREE.SphereGeometry(a, 32, 24);
  if (is(kinds.mjGEOM_CAPSULE)) return upright(new THREE.CapsuleGeometry(a, 2 * b, 8, 24));
  if (is(kinds.mjGEOM_CYLINDER)) return upright(new THREE.CylinderGeometry(a, a, 2 * b, 32));
  if (is(kinds.mjGEOM_ELLIPSOID)) return new THREE.SphereGeometry(1, 32, 24).scale(a, b, c);
  return null; // the floor is left out: the table stands on nothing
}

function meshOf(model, mesh) {
  const slice = (array, first, count, width) => array.slice(first * width, (first + count) * width);
  const vertices = slice(model.mesh_vert, model.mesh_vertadr[mesh], model.mesh_vertnum[mesh], 3);
  const faces = slice(model.mesh_face, model.mesh_faceadr[mesh], model.mesh_facenum[mesh], 3);
  const shape = new THREE.BufferGeometry();
  shape.setAttribute("position", new THREE.BufferAttribute(new Float32Array(vertices), 3));
  shape.setIndex([...faces]);
  shape.computeVertexNormals();
  return shape;
}
