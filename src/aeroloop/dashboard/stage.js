// The surroundings of the aircraft: sky, level ground, home, the wind's arrow; and the cameras.
import { THREE } from "nicegui-scene";

const COLORS = {
  light: { sky: 0xdbe7f3, ground: 0xcbd8c6, line: 0x5d7266 },
  dark: { sky: 0x18212b, ground: 0x222d34, line: 0x7e93a2 },
};

// Lines every 1, 10 and 100 m, drawn where they lie at least a few pixels apart.
const floor_vertex = `
varying vec2 at;
#include <fog_pars_vertex>
void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  at = world.xy;
  vec4 mvPosition = viewMatrix * world;
  gl_Position = projectionMatrix * mvPosition;
  #include <fog_vertex>
}`;
const line_shader = `
varying vec2 at;
float lines(float step_m, float strength) {
  vec2 place = at / step_m, pixel = fwidth(place);
  vec2 away = abs(fract(place - 0.5) - 0.5) / max(pixel, 1e-6);
  vec2 shade = (1.0 - clamp(away - 0.3, 0.0, 1.0)) * clamp(1.0 - 5.0 * pixel, 0.0, 1.0);
  return strength * max(shade.x, shade.y);
}
float drawn() {
  return max(lines(1.0, 0.24), max(lines(10.0, 0.55), lines(100.0, 0.8)));
}`;
const floor_fragment = `
uniform vec3 ground, line;
#include <fog_pars_fragment>
${line_shader}
void main() {
  gl_FragColor = vec4(mix(ground, line, drawn()), 1.0);
  #include <colorspace_fragment>
  #include <fog_fragment>
}`;

// The same lines on ground that is a mesh.
function ruled(material) {
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec2 at;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nat = position.xy;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", `#include <common>\n${line_shader}`)
      .replace("#include <map_fragment>", "#include <map_fragment>\ndiffuseColor.rgb *= 1.0 - 0.5 * drawn();");
  };
  material.needsUpdate = true;
}

export default class Stage {
  // scene_id: nicegui's number of the scene; flat: whether to draw level ground; otherwise the object that is the ground;
  // home: whether to mark the origin
  create_mesh(scene_id, flat, relief_id, camera, target, reach_m, span_m, home) {
    Object.assign(this, { scene_id, relief_id });
    this.mesh = new THREE.Group();
    this.floor = this.plane();
    this.floor.visible = flat;
    this.arrow = new THREE.ArrowHelper(new THREE.Vector3(1, 0, 0), new THREE.Vector3(), 1, 0x1e88e5, 0.25, 0.14);
    this.arrow.visible = false;
    const sun = new THREE.DirectionalLight(0xfff4e0, 2.4);
    sun.position.set(-5, -7, 9);
    this.ground_m = 0;
    this.shadow = this.below();
    this.mesh.add(this.floor, this.shadow, this.arrow, sun);
    if (home) this.mesh.add(this.home(flat));
    this.was = null; // where the followed aircraft was at the last frame
    this.look(camera, target, reach_m, span_m);
    const update = this.mesh.updateMatrixWorld.bind(this.mesh);
    this.mesh.updateMatrixWorld = (force) => {
      this.advance();
      update(force);
    };
    return this.mesh;
  }

  plane() {
    const material = new THREE.ShaderMaterial({
      uniforms: THREE.UniformsUtils.merge([
        THREE.UniformsLib.fog,
        { ground: { value: new THREE.Color() }, line: { value: new THREE.Color() } },
      ]),
      vertexShader: floor_vertex,
      fragmentShader: floor_fragment,
      fog: true,
      side: THREE.DoubleSide,
    });
    const floor = new THREE.Mesh(new THREE.CircleGeometry(5000, 48), material);
    floor.frustumCulled = false;
    return floor;
  }

  home(flat) {
    const material = new THREE.MeshBasicMaterial({ color: 0x1e88e5, transparent: true, opacity: 0.75 });
    material.depthTest = flat; // a slope would hide half of it
    const ring = new THREE.Mesh(new THREE.RingGeometry(0.46, 0.5, 64), material);
    ring.position.z = 0.01;
    return ring;
  }

  // Where the aircraft is above: a spot on the ground, and a line down to it.
  below() {
    const flat = { color: 0x000000, transparent: true, opacity: 0.28, depthWrite: false };
    this.spot = new THREE.Mesh(new THREE.CircleGeometry(1, 32), new THREE.MeshBasicMaterial(flat));
    this.spot.position.z = 0.015;
    const points = [new THREE.Vector3(), new THREE.Vector3(0, 0, 1)];
    const geometry = new THREE.BufferGeometry().setFromPoints(points);
    this.plumb = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: 0x7d8a96, transparent: true, opacity: 0.7 }));
    const group = new THREE.Group();
    group.add(this.spot, this.plumb);
    group.visible = false;
    return group;
  }

  // Sharp on screens with small pixels, and light that leaves shapes their shade.
  prepare(view) {
    if (this.prepared === view) return;
    this.prepared = view;
    view.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio || 1));
    view.resize();
    for (const light of view.scene.children) {
      if (light.isAmbientLight) light.intensity = 1.3;
      if (light.isDirectionalLight) light.intensity = 0.4;
    }
  }

  // The page's current theme.
  paint(view) {
    const dark = document.body.classList.contains("body--dark");
    const relief = view.objects.get(this.relief_id)?.mesh;
    if (this.dark === dark && this.painted === relief) return;
    Object.assign(this, { dark, painted: relief });
    const colors = dark ? COLORS.dark : COLORS.light;
    this.floor.material.uniforms.ground.value.set(colors.ground);
    this.floor.material.uniforms.line.value.set(colors.line);
    if (relief && !relief.material.ruled) ruled(Object.assign(relief.material, { ruled: true, transparent: false }));
    relief?.material.color.set(dark ? 0x59636d : 0xd0d4d8);
    view.scene.background = new THREE.Color(colors.sky);
    view.scene.fog = new THREE.Fog(colors.sky, 60, 420);
  }

  // camera: follow, free or top; target: the scene object to keep in view; reach_m: how large that is; span_m: the flight
  look(camera, target, reach_m, span_m) {
    const kept = camera === "free" && this.target === target; // stay where the mouse has taken it
    if (this.target !== target) this.was = null;
    Object.assign(this, { mode: camera, target, reach_m, span_m });
    this.pending = kept ? null : camera; // until the aircraft is there
  }

  // the wind to the east and north, and how high the ground is below the aircraft
  air(x, y, ground_m) {
    this.blow = new THREE.Vector3(x, y, 0);
    this.ground_m = ground_m;
  }

  advance() {
    const view = globalThis.getElement?.(this.scene_id);
    if (!view?.camera || !view.controls) return;
    this.prepare(view);
    this.paint(view);
    const followed = view.objects.get(this.target);
    followed?.component?.advance(performance.now()); // first: the camera depends on its drawn position
    this.shadow.visible = Boolean(followed?.mesh?.visible);
    if (this.shadow.visible) {
      this.chase(view, followed.mesh);
      this.mark(followed.mesh);
    }
    const { position } = view.camera;
    const height = Math.abs(position.z);
    view.scene.fog.near = 60 + 3 * height;
    view.scene.fog.far = 420 + 8 * height;
    this.floor.position.set(position.x, position.y, -0.005);
  }

  // The camera goes where the aircraft goes and turns with it, so that the mouse still turns and zooms around it.
  chase(view, craft) {
    const { camera, controls } = view;
    const yaw = new THREE.Euler().setFromQuaternion(craft.quaternion, "ZYX").z;
    const size = Math.max(0.3, this.reach_m);
    if (this.pending) {
      const away =
        this.pending === "top"
          ? new THREE.Vector3(0, -0.01, 1).multiplyScalar(Math.max(30 * size, 2.6 * this.span_m))
          : new THREE.Vector3(...(this.pending === "free" ? [-2.6, -1.6, 2.4] : [-4.1, -1.7, 1.9])).multiplyScalar(size).applyAxisAngle(new THREE.Vector3(0, 0, 1), yaw);
      view.camera_tween?.stop();
      camera.position.copy(craft.position).add(away);
      camera.near = 0.05 * Math.max(1, this.reach_m); // a large aircraft flies far
      camera.far = 8000 * Math.max(1, 3 * this.reach_m);
      camera.updateProjectionMatrix();
      controls.target.copy(craft.position);
      this.pending = null;
    } else if (this.mode !== "free" && this.was) {
      const step = craft.position.clone().sub(this.was.pos);
      camera.position.add(step);
      controls.target.add(step);
      if (this.mode === "follow") {
        const turn = Math.atan2(Math.sin(yaw - this.was.yaw), Math.cos(yaw - this.was.yaw));
        this.owed = (this.owed || 0) + turn;
        const now = 0.12 * this.owed;
        this.owed -= now;
        const arm = camera.position.clone().sub(controls.target).applyAxisAngle(new THREE.Vector3(0, 0, 1), now);
        camera.position.copy(controls.target).add(arm);
      }
    }
    camera.lookAt(controls.target);
    this.was = { pos: craft.position.clone(), yaw };
  }

  mark({ position }) {
    const size = Math.max(0.3, this.reach_m);
    const height = position.z - this.ground_m;
    this.shadow.position.set(position.x, position.y, this.ground_m);
    this.spot.scale.setScalar(0.75 * size);
    this.plumb.visible = height > size;
    this.plumb.scale.z = Math.max(0.001, height - 0.4 * size);
    this.arrow.visible = this.blow?.length() > 0.3;
    if (!this.arrow.visible) return;
    this.arrow.position.copy(position).add(new THREE.Vector3(0, 0, 1.3 * size));
    this.arrow.setDirection(this.blow.clone().normalize());
    this.arrow.setLength(size * Math.min(4, 0.6 + 0.25 * this.blow.length()), 0.3 * size, 0.14 * size);
  }
}
