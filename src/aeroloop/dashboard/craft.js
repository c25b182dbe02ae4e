// One aircraft of the 3D view: built from core/shape.py, moved by rows of its streams.
// Rows come up to 20 times a second; between them this script glides from one pose to the next and turns the rotors.
import { THREE } from "nicegui-scene";

const geometries = {
  box: ([x, y, z]) => new THREE.BoxGeometry(2 * x, 2 * y, 2 * z),
  sphere: ([r]) => new THREE.SphereGeometry(r, 20, 14),
  ellipsoid: ([x, y, z]) => new THREE.SphereGeometry(1, 28, 18).scale(x, y, z),
  capsule: ([r, half]) => new THREE.CapsuleGeometry(r, 2 * half, 8, 16).rotateX(Math.PI / 2),
  cylinder: ([r, half]) => new THREE.CylinderGeometry(r, r, 2 * half, 36).rotateX(Math.PI / 2),
};

function mesh_geometry(part) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(part.vertices_m, 3));
  geometry.setIndex(part.faces);
  geometry.computeVertexNormals();
  return geometry;
}

function drawn(part) {
  const geometry = part.kind === "mesh" ? mesh_geometry(part) : geometries[part.kind](part.size_m);
  const [r, g, b, a] = part.rgba;
  const material = new THREE.MeshPhongMaterial({ color: new THREE.Color(r, g, b).convertSRGBToLinear(), shininess: 60 });
  if (a < 1) Object.assign(material, { transparent: true, opacity: a, depthWrite: false });
  return placed(new THREE.Mesh(geometry, material), part);
}

function placed(object, { pos_m, quat: [w, x, y, z] }) {
  object.position.set(...pos_m);
  object.quaternion.set(x, y, z, w);
  return object;
}

export default class Craft {
  create_mesh(shape, color) {
    this.mesh = new THREE.Group();
    this.mesh.visible = false; // until its place is known
    this.hinges = [];
    const bodies = [];
    for (const body of shape.bodies) {
      const frame = placed(new THREE.Group(), body);
      (body.parent < 0 ? this.mesh : bodies[body.parent]).add(frame);
      if (!body.hinge) {
        bodies.push(frame);
        continue;
      }
      const arm = new THREE.Group(); // what turns
      const inner = new THREE.Group();
      arm.position.set(...body.hinge.pos_m);
      inner.position.set(...body.hinge.pos_m).negate();
      frame.add(arm);
      arm.add(inner);
      bodies.push(inner);
      this.hinges.push({ arm, axis: new THREE.Vector3(...body.hinge.axis) });
    }
    for (const part of shape.parts) bodies[part.body].add(drawn(part));
    this.rotors = shape.rotors.map((rotor) => {
      const hub = placed(new THREE.Group(), rotor);
      const disc = drawn({ ...rotor, kind: "cylinder", size_m: [rotor.radius_m, 0.001], rgba: rotor.disc_rgba });
      disc.material.opacity = 0.22;
      disc.position.set(0, 0, 0);
      disc.quaternion.identity();
      hub.add(disc, ...rotor.blades.map(drawn));
      bodies[rotor.body].add(hub);
      return { hub, rest: hub.quaternion.clone(), angle: 0, rate: 0 };
    });
    if (shape.nose_m > 0) this.mesh.add(this.nose(shape, color));
    this.from = this.to = null;
    this.leap_m = 20 * Math.max(1, shape.reach_m); // farther than this between two poses nothing flies
    this.seen_ms = this.shown_ms = performance.now();
    this.period_ms = 60;
    // three.js calls this once a frame, before anything is drawn.
    const update = this.mesh.updateMatrixWorld.bind(this.mesh);
    this.mesh.updateMatrixWorld = (force) => {
      this.advance(performance.now());
      update(force);
    };
    return this.mesh;
  }

  nose({ nose_m, reach_m }, color) {
    const cone = new THREE.ConeGeometry(0.06 * reach_m, 0.22 * reach_m, 16).rotateZ(-Math.PI / 2);
    const marker = new THREE.Mesh(cone, new THREE.MeshPhongMaterial({ color }));
    marker.position.x = nose_m + 0.14 * reach_m;
    return marker;
  }

  // pos [x y z], quat [w x y z], tilts of the hinges (rad), rates at which the rotors are shown to turn (rad/s)
  pose(pos, quat, tilts, rates) {
    const now = performance.now();
    const to = {
      pos: new THREE.Vector3(...pos),
      quat: new THREE.Quaternion(quat[1], quat[2], quat[3], quat[0]),
      tilts,
    };
    const jumped = !this.to || this.to.pos.distanceTo(to.pos) > this.leap_m; // another flight: do not glide through the world
    this.from = jumped ? to : this.current(now);
    this.to = to;
    this.period_ms += 0.2 * (Math.min(250, now - this.seen_ms) - this.period_ms);
    this.seen_ms = now;
    this.rotors.forEach((rotor, i) => (rotor.rate = rates[i] || 0));
    this.mesh.visible = true;
  }

  current(now) {
    const part = Math.min(1, (now - this.seen_ms) / this.period_ms);
    return {
      pos: this.from.pos.clone().lerp(this.to.pos, part),
      quat: this.from.quat.clone().slerp(this.to.quat, part),
      tilts: this.to.tilts.map((tilt, i) => this.from.tilts[i] + part * (tilt - this.from.tilts[i])),
    };
  }

  advance(now) {
    const dt_s = Math.min(0.2, (now - this.shown_ms) / 1000); // 0 if called twice for one frame
    this.shown_ms = now;
    if (!this.to) return;
    const { pos, quat, tilts } = this.current(now);
    this.mesh.position.copy(pos);
    this.mesh.quaternion.copy(quat);
    this.hinges.forEach(({ arm, axis }, i) => arm.quaternion.setFromAxisAngle(axis, tilts[i] || 0));
    const still = now - this.seen_ms > 1000; // no more updates
    for (const rotor of this.rotors) {
      rotor.angle += still ? 0 : rotor.rate * dt_s;
      rotor.hub.quaternion.setFromAxisAngle(new THREE.Vector3(0, 0, 1), rotor.angle).premultiply(rotor.rest);
    }
  }
}
