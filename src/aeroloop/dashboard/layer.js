// A layer of the 3D view: points and straight lines with colours, fetched as one block of bytes (protocols/layers.py).
import { THREE } from "nicegui-scene";

const HEADER = 16;
const POINT_PX = 3;

// Colours arrive as on a screen; three.js computes with light.
const light = (bytes) => Float32Array.from(bytes, (byte) => Math.pow(byte / 255, 2.2));

function filled(geometry, positions, colours) {
  geometry.setAttribute("position", new THREE.BufferAttribute(positions, 3));
  geometry.setAttribute("color", new THREE.BufferAttribute(colours, 3));
}

export default class Layer {
  create_mesh(url) {
    this.mesh = new THREE.Group();
    const points = new THREE.PointsMaterial({ size: POINT_PX, sizeAttenuation: false, vertexColors: true });
    this.points = new THREE.Points(new THREE.BufferGeometry(), points);
    this.lines = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ vertexColors: true }));
    for (const drawn of [this.points, this.lines]) {
      drawn.frustumCulled = false;
      drawn.visible = false;
      this.mesh.add(drawn);
    }
    this.load(url);
    return this.mesh;
  }

  apply_material() {}

  // One at a time; of several that come meanwhile, the last.
  async load(url) {
    this.wanted = url;
    if (this.loading) return;
    this.loading = true;
    try {
      while (this.wanted) {
        const asked = this.wanted;
        this.wanted = "";
        const answer = await fetch(asked, { cache: "no-store" });
        if (answer.status === 200) this.show(await answer.arrayBuffer());
      }
    } catch {
      // the dashboard has ended
    } finally {
      this.loading = false;
    }
  }

  show(data) {
    const [points, lines] = new Uint32Array(data, 8, 2);
    const places = new Float32Array(data, HEADER, 3 * points + 6 * lines);
    const colours = new Uint8Array(data, HEADER + places.byteLength, 3 * (points + lines));
    filled(this.points.geometry, places.slice(0, 3 * points), light(colours.subarray(0, 3 * points)));
    const ends = new Uint8Array(6 * lines); // both ends of a line have its colour
    for (let i = 0; i < 6 * lines; i++) ends[i] = colours[3 * (points + Math.floor(i / 6)) + (i % 3)];
    filled(this.lines.geometry, places.slice(3 * points), light(ends));
    this.points.visible = points > 0;
    this.lines.visible = lines > 0;
    this.mesh.userData.counts = [points, lines];
  }
}
