// Emits where the ground was double-clicked, east and north in m.
import { THREE } from "nicegui-scene";

export default class Picker {
  // relief_id: the scene object that is the ground; empty: the stage's level floor
  create_mesh(scene_id, relief_id) {
    this.mesh = new THREE.Group();
    const update = this.mesh.updateMatrixWorld.bind(this.mesh);
    this.mesh.updateMatrixWorld = (force) => {
      this.listen(scene_id, relief_id);
      update(force);
    };
    return this.mesh;
  }

  listen(scene_id, relief_id) {
    const view = globalThis.getElement?.(scene_id);
    if (!view?.renderer || this.view === view) return;
    this.view = view;
    const canvas = view.renderer.domElement;
    const heard = view.ground_relief !== undefined; // by another picker of this scene
    view.ground_relief = relief_id;
    if (heard) return;
    view.$el.dataset.listens = "";
    const ray = new THREE.Raycaster();
    view.$el.addEventListener("dblclick", (event) => {
      const box = canvas.getBoundingClientRect();
      const at = new THREE.Vector2(
        ((event.clientX - box.left) / box.width) * 2 - 1,
        1 - ((event.clientY - box.top) / box.height) * 2,
      );
      ray.setFromCamera(at, view.camera);
      const floor = [...view.objects.values()].find((each) => each.component?.floor)?.component.floor;
      const ground = view.objects.get(view.ground_relief)?.mesh ?? floor;
      const hit = ground && ray.intersectObject(ground, true)[0];
      if (hit) view.$emit("place", [hit.point.x, hit.point.y]);
    });
  }
}
