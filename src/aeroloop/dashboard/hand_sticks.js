// Two sticks for mouse and touch, the keys W A S D and the arrows, and any game pad that the browser supports.
// Tells [device, left x, left y, right x, right y], -1 to 1, right and down positive, as game pads count.
const PERIOD_MS = 50;
const ALIVE_MS = 200;
const DEAD = 0.08;
const KEYS = {
  KeyW: [1, -1], KeyS: [1, 1], KeyA: [0, -1], KeyD: [0, 1],
  ArrowUp: [3, -1], ArrowDown: [3, 1], ArrowLeft: [2, -1], ArrowRight: [2, 1],
};

export default {
  template: `
    <div class="hand-sticks" :class="{ 'hand-sticks-idle': !taken }">
      <div v-for="(side, n) in ['left', 'right']" class="hand-stick">
        <svg viewBox="-110 -110 220 220" :data-testid="'stick-' + side" @pointerdown="down(n, $event)"
             @pointermove="move(n, $event)" @pointerup="up(n)" @pointercancel="up(n)" @lostpointercapture="up(n)">
          <rect x="-106" y="-106" width="212" height="212" rx="26" class="hand-frame" />
          <path d="M-100 0H100M0 -100V100" class="hand-cross" />
          <text y="-88">{{ [up_label, 'forward'][n] }}</text>
          <text y="98">{{ [down_label, 'back'][n] }}</text>
          <text x="-98" y="-6" class="hand-start">{{ ['turn left', 'left'][n] }}</text>
          <text x="98" y="-6" class="hand-end">{{ ['turn right', 'right'][n] }}</text>
          <line x1="0" y1="0" :x2="axes[2 * n] * 78" :y2="axes[2 * n + 1] * 78" class="hand-arm" />
          <circle :cx="axes[2 * n] * 78" :cy="axes[2 * n + 1] * 78" r="26" class="hand-knob" />
        </svg>
      </div>
    </div>`,
  props: { taken: Boolean, up_label: String, down_label: String },
  data() {
    return { axes: [0, 0, 0, 0] };
  },
  mounted() {
    this.touched = [null, null];
    this.keys = new Set();
    this.pad = { index: -1, first: [], woken: [] };
    this.last = "";
    this.told_ms = 0;
    this.keydown = (event) => this.key(event, true);
    this.keyup = (event) => this.key(event, false);
    this.let_go = () => {
      this.keys.clear();
      this.touched = [null, null];
    };
    window.addEventListener("keydown", this.keydown);
    window.addEventListener("keyup", this.keyup);
    window.addEventListener("blur", this.let_go);
    document.addEventListener("visibilitychange", this.let_go);
    this.timer = setInterval(() => this.tick(), PERIOD_MS);
  },
  unmounted() {
    window.removeEventListener("keydown", this.keydown);
    window.removeEventListener("keyup", this.keyup);
    window.removeEventListener("blur", this.let_go);
    document.removeEventListener("visibilitychange", this.let_go);
    clearInterval(this.timer);
  },
  methods: {
    down(n, event) {
      event.preventDefault();
      event.currentTarget.setPointerCapture(event.pointerId);
      this.touched[n] = this.spot(event);
      this.tick();
    },
    move(n, event) {
      if (this.touched[n]) this.touched[n] = this.spot(event);
    },
    up(n) {
      if (!this.touched[n]) return;
      this.touched[n] = null;
      this.tick();
    },
    spot(event) {
      const box = event.currentTarget.getBoundingClientRect();
      const part = (at, from, size) => Math.max(-1, Math.min(1, (((at - from) / size) * 220 - 110) / 78));
      return [part(event.clientX, box.left, box.width), part(event.clientY, box.top, box.height)];
    },
    key(event, is_down) {
      if (!(event.code in KEYS) || !this.taken) return;
      if (["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement?.tagName)) return;
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      if (is_down) this.keys.add(event.code);
      else this.keys.delete(event.code);
      this.reach = event.shiftKey ? 1 : 0.6;
    },
    game_pad() {
      const pads = navigator.getGamepads ? [...navigator.getGamepads()] : [];
      const pad = pads.find((each) => each && each.connected && each.axes.length >= 4);
      if (!pad) {
        this.pad = { index: -1, first: [], woken: [] };
        return null;
      }
      const axes = pad.axes.slice(0, 4).map((axis) => Math.max(-1, Math.min(1, Number(axis) || 0)));
      if (this.pad.index !== pad.index) this.pad = { index: pad.index, first: axes, woken: axes.map((axis) => axis === 0) };
      // An axis counts as centred until it has moved: some drivers report an end before that.
      axes.forEach((axis, i) => (this.pad.woken[i] ||= axis !== this.pad.first[i]));
      return { name: pad.id, axes: axes.map((axis, i) => (this.pad.woken[i] ? axis : 0)) };
    },
    read() {
      if (this.touched[0] || this.touched[1]) {
        return ["on-screen sticks", ...(this.touched[0] || [0, 0]), ...(this.touched[1] || [0, 0])];
      }
      if (this.keys.size) {
        const axes = [0, 0, 0, 0];
        for (const code of this.keys) axes[KEYS[code][0]] += KEYS[code][1] * this.reach;
        return ["keyboard", ...axes];
      }
      const pad = this.game_pad();
      if (pad) return [`game pad ${pad.name}`, ...pad.axes.map((axis) => (Math.abs(axis) < DEAD ? 0 : axis))];
      return ["on-screen sticks", 0, 0, 0, 0];
    },
    tick() {
      const told = this.read().map((part) => (typeof part === "number" ? Math.round(part * 1000) / 1000 : part));
      this.axes = told.slice(1);
      if (!this.taken) return;
      const now_ms = performance.now();
      const text = JSON.stringify(told);
      if ((text !== this.last && now_ms - this.told_ms >= PERIOD_MS / 2) || now_ms - this.told_ms >= ALIVE_MS) {
        this.last = text;
        this.told_ms = now_ms;
        this.$emit("hands", told);
      }
    },
  },
};
