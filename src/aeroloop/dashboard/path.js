// A line through the world with a width in pixels (WebGL's own lines have one pixel), that can be extended without sending it again.
import { THREE } from "nicegui-scene";

const vertex = `
attribute vec3 before, after;
attribute float side;
uniform vec2 screen;
uniform float width;
#include <fog_pars_vertex>
void main() {
  mat4 m = projectionMatrix * modelViewMatrix;
  vec4 here = m * vec4(position, 1.0), a = m * vec4(before, 1.0), b = m * vec4(after, 1.0);
  vec2 along = (b.xy / max(b.w, 0.01) - a.xy / max(a.w, 0.01)) * screen;
  along = length(along) > 1e-6 ? normalize(along) : vec2(1.0, 0.0);
  here.xy += side * width * here.w * vec2(-along.y, along.x) / screen;
  vec4 mvPosition = modelViewMatrix * vec4(position, 1.0);
  gl_Position = here;
  #include <fog_vertex>
}`;
const fragment = `
uniform vec3 color;
uniform float opacity;
#include <fog_pars_fragment>
void main() {
  gl_FragColor = vec4(color, opacity);
  #include <colorspace_fragment>
  #include <fog_fragment>
}`;

export default class Path {
  create_mesh(points, color, width, opacity, most) {
    this.most = most;
    this.arrays = { position: 3, before: 3, after: 3, side: 1 };
    this.geometry = new THREE.BufferGeometry();
    for (const [name, size] of Object.entries(this.arrays))
      this.geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(2 * most * size), size));
    const indices = [];
    for (let i = 0; i + 1 < most; i++) indices.push(2 * i, 2 * i + 1, 2 * i + 2, 2 * i + 1, 2 * i + 3, 2 * i + 2);
    this.geometry.setIndex(indices);
    const screen = new THREE.Vector2(800, 600);
    const uniforms = THREE.UniformsUtils.merge([
      THREE.UniformsLib.fog,
      { color: { value: new THREE.Color(color) }, width: { value: width }, opacity: { value: opacity } },
    ]);
    uniforms.screen = { value: screen };
    const material = new THREE.ShaderMaterial({
      uniforms,
      vertexShader: vertex,
      fragmentShader: fragment,
      transparent: true,
      depthWrite: false,
      fog: true,
      side: THREE.DoubleSide,
    });
    this.mesh = new THREE.Mesh(this.geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.onBeforeRender = (renderer) => renderer.getSize(screen);
    this.set(points);
    return this.mesh;
  }

  apply_material({ color, opacity }) {
    this.mesh.material.uniforms.color.value.set(color);
    this.mesh.material.uniforms.opacity.value = opacity;
  }

  set(points) {
    this.points = points.slice(-this.most);
    this.write(0);
  }

  add(points) {
    const from = this.points.length;
    this.points = this.points.concat(points);
    if (this.points.length > this.most) this.set(this.points);
    else this.write(Math.max(0, from - 1));
  }

  write(from) {
    const { position, before, after, side } = this.geometry.attributes;
    const last = this.points.length - 1;
    for (let i = from; i <= last; i++) {
      for (const k of [2 * i, 2 * i + 1]) {
        position.setXYZ(k, ...this.points[i]);
        before.setXYZ(k, ...this.points[Math.max(0, i - 1)]);
        after.setXYZ(k, ...this.points[Math.min(last, i + 1)]);
        side.setX(k, k % 2 ? -1 : 1);
      }
    }
    for (const name of Object.keys(this.arrays)) this.geometry.attributes[name].needsUpdate = true;
    this.geometry.setDrawRange(0, Math.max(0, 6 * last));
  }
}
