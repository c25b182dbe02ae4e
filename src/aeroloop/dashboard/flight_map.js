// Shows the drawing of map.py, and emits user input on it, in pixels. Moves are drawn here at once and
// counted on the server when the hand lets go, so that the map follows a finger without a round trip.
const TAP_PX = 6;

export default {
  template: `
    <div ref="box" class="flight-map">
      <svg ref="svg" :viewBox="'0 0 ' + width + ' ' + height" :data-view="view"
           @pointerdown="down" @pointermove="move" @pointerup="up" @pointercancel="cancel" @wheel.prevent="wheel">
        <g :transform="transform">
          <image v-if="ground && box" :href="ground" :x="box[0]" :y="box[1]" :width="box[2]" :height="box[3]"
                 preserveAspectRatio="none" />
          <g v-html="scene"></g>
          <g ref="live"></g>
        </g>
      </svg>
    </div>`,
  props: { scene: String, ground: String, box: Array, view: String },
  data() {
    return { width: 720, height: 460, transform: "" };
  },
  mounted() {
    this.pointers = new Map();
    this.observer = new ResizeObserver(() => this.measure());
    this.observer.observe(this.$refs.box);
  },
  unmounted() {
    this.observer.disconnect();
    clearTimeout(this.wheeling);
  },
  watch: {
    view() {
      if (!this.pointers.size) this.transform = "";
    },
  },
  methods: {
    live(svg) {
      this.$refs.live.innerHTML = svg;
    },
    measure() {
      const { width, height } = this.$refs.box.getBoundingClientRect();
      if (!width || !height) return;
      this.width = Math.round(width);
      this.height = Math.round(height);
      this.$emit("size", [this.width, this.height]);
    },
    place(event) {
      const box = this.$refs.svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    },
    down(event) {
      if (event.button > 0) return;
      this.$refs.svg.setPointerCapture(event.pointerId);
      const waypoint = event.target.closest("[data-waypoint]");
      const at = this.place(event);
      this.pointers.set(event.pointerId, { from: at, at, far: 0, waypoint });
      if (this.pointers.size > 1) for (const pointer of this.pointers.values()) pointer.far = Infinity;
    },
    move(event) {
      const pointer = this.pointers.get(event.pointerId);
      if (!pointer) return;
      pointer.at = this.place(event);
      pointer.far = Math.max(pointer.far, Math.hypot(pointer.at[0] - pointer.from[0], pointer.at[1] - pointer.from[1]));
      if (this.pointers.size > 1) {
        const { factor, x, y, right, down } = this.pinch();
        this.transform = `translate(${right} ${down}) translate(${x} ${y}) scale(${factor}) translate(${-x} ${-y})`;
      } else if (pointer.far > TAP_PX && pointer.waypoint) {
        pointer.waypoint.setAttribute("transform", `translate(${pointer.at[0]} ${pointer.at[1]})`);
      } else if (pointer.far > TAP_PX) {
        this.transform = `translate(${pointer.at[0] - pointer.from[0]} ${pointer.at[1] - pointer.from[1]})`;
      }
    },
    up(event) {
      const pointer = this.pointers.get(event.pointerId);
      if (!pointer) return;
      pointer.at = this.place(event);
      const [x, y] = pointer.at;
      if (this.pointers.size > 1) {
        const { factor, x, y, right, down } = this.pinch();
        this.$emit("pinch", [factor, x, y, right, down]);
        this.pointers.clear();
      } else if (pointer.far <= TAP_PX) {
        this.$emit("tap", [x, y, pointer.waypoint ? Number(pointer.waypoint.dataset.waypoint) : -1]);
      } else if (pointer.waypoint) {
        this.$emit("carry", [Number(pointer.waypoint.dataset.waypoint), x, y]);
      } else if (pointer.far !== Infinity) {
        this.$emit("pinch", [1, 0, 0, x - pointer.from[0], y - pointer.from[1]]);
      }
      this.pointers.delete(event.pointerId);
    },
    cancel() {
      this.pointers.clear();
      this.transform = "";
    },
    pinch() {
      const [a, b] = [...this.pointers.values()];
      const apart = (p, q) => Math.max(Math.hypot(p[0] - q[0], p[1] - q[1]), 10);
      const middle = (p, q) => [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2];
      const [x, y] = middle(a.from, b.from);
      const [x2, y2] = middle(a.at, b.at);
      return { factor: apart(a.at, b.at) / apart(a.from, b.from), x, y, right: x2 - x, down: y2 - y };
    },
    wheel(event) {
      const [x, y] = this.place(event);
      this.turned = (this.turned || 0) + event.deltaY;
      clearTimeout(this.wheeling);
      this.wheeling = setTimeout(() => {
        this.$emit("pinch", [Math.exp(-this.turned / 500), x, y, 0, 0]);
        this.turned = 0;
      }, 40);
    },
  },
};
