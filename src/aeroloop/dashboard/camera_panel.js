// Shows the images of one camera: the newest of a running flight, or those of a replay's time. It asks for an image when it has shown the
// last one, so a slow browser gets fewer; nothing is asked for while the page is hidden.
const PERIOD_MS = 95;
const LOOK_MS = 200;
const RETRY_MS = 500;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export default {
  template: `
    <div class="cam" data-testid="camera-panel">
      <div class="cam-bar">
        <select v-if="cameras.length > 1" v-model="name" aria-label="camera" data-testid="camera-name">
          <option v-for="each in cameras" :value="each.name">{{ each.name }}</option>
        </select>
        <b v-else data-testid="camera-name">{{ name }}</b>
        <span v-if="chosen.depth && live_url" class="cam-kind" role="group" aria-label="image">
          <button :aria-pressed="!depth" @click="depth = false" data-testid="camera-rgb">RGB</button>
          <button :aria-pressed="depth" @click="depth = true" data-testid="camera-depth">depth</button>
        </span>
        <span class="cam-age" data-testid="camera-age">{{ told }}</span>
      </div>
      <div class="cam-box" :class="{ 'cam-stale': words }">
        <svg :viewBox="'-0.5 -0.5 ' + size[0] + ' ' + size[1]" preserveAspectRatio="xMidYMid meet">
          <image v-if="src" :href="src" x="-0.5" y="-0.5" :width="size[0]" :height="size[1]" data-testid="camera-image" />
          <g v-for="each in outlines" data-testid="camera-outline">
            <polygon :points="each.corners_px.join(' ')" :stroke-width="size[0] / 320" />
            <text :x="each.corners_px[0][0]" :y="each.corners_px[0][1]" :font-size="size[0] / 28" :stroke-width="size[0] / 160">{{ each.label }}</text>
          </g>
        </svg>
        <span v-if="state && !words" class="cam-state" data-testid="camera-state">{{ state }}</span>
        <span v-if="words" class="cam-words" data-testid="camera-stale">{{ words }}</span>
      </div>
    </div>`,
  props: { cameras: Array, live_url: String, running: Boolean, replay_url: String, part: String, t_s: Number },
  data() {
    return { name: "", depth: false, src: "", size: [640, 480], told: "", words: "no frame yet", state: "", outlines: [] };
  },
  computed: {
    chosen() {
      return this.cameras.find((each) => each.name === this.name) || { name: "", depth: false, stale_s: 1 };
    },
    of() {
      return [this.live_url, this.replay_url, this.part, this.chosen.name, this.depth && this.chosen.depth].join(" ");
    },
  },
  watch: {
    cameras: {
      immediate: true,
      handler() {
        if (!this.chosen.name) this.name = this.cameras.length ? this.cameras[0].name : "";
      },
    },
    of() {
      this.forget();
    },
  },
  mounted() {
    this.forget();
    this.alive = true;
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.run();
  },
  unmounted() {
    this.alive = false;
    clearInterval(this.timer);
  },
  methods: {
    forget() {
      Object.assign(this, { src: "", told: "", words: "no frame yet", state: "", outlines: [] });
      this.number = -1;
      this.shown_ms = null;
      this.asked_s = null;
    },
    async run() {
      while (this.alive) {
        const began_ms = performance.now();
        const url = this.url();
        if (url) await this.ask(url);
        await pause(Math.max(20, PERIOD_MS - (performance.now() - began_ms)));
      }
    },
    url() {
      if (document.hidden || !this.chosen.name) return "";
      if (this.live_url)
        return this.running ? `${this.live_url}${this.name}${this.depth && this.chosen.depth ? ".depth" : ""}.json?after=${this.number}` : "";
      if (this.t_s === this.asked_s) return "";
      this.asked_s = this.t_s;
      return `${this.replay_url}${this.name}.json?part=${encodeURIComponent(this.part)}&t=${this.t_s}`;
    },
    async ask(url) {
      const of = this.of;
      try {
        const answer = await fetch(url, { cache: "no-store" });
        if (of !== this.of) return;
        if (answer.status === 200) this.show(await answer.json());
        else if (!this.live_url) Object.assign(this, { words: "no image in the log", told: "", outlines: [], state: "" });
        else if (!answer.ok) await pause(RETRY_MS);
      } catch {
        await pause(RETRY_MS); // the dashboard has ended, or restarts
      }
    },
    show(image) {
      this.number = image.number;
      this.shown_ms = performance.now();
      this.size = image.size;
      this.src = "data:image/jpeg;base64," + image.jpeg;
      this.told = `${image.t_s.toFixed(2)} s, age ${image.age_s.toFixed(2)} s`;
      this.words = "";
      this.outlines = image.overlay ? image.overlay.outlines : [];
      this.state = image.overlay ? image.overlay.state : "";
    },
    look() {
      if (!this.live_url) return;
      if (!this.running) this.words = "the flight has ended";
      else if (this.shown_ms !== null && !document.hidden) {
        const silent_s = (performance.now() - this.shown_ms) / 1000;
        if (silent_s > this.chosen.stale_s) this.words = `no frame for ${silent_s.toFixed(1)} s`;
      }
    },
  },
};
