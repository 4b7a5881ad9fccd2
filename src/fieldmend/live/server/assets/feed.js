// What the server says, as it says it; comes back by itself when it was gone.

const AGAIN = 4000; // ms, where the browser does not come again by itself
const AT_LEAST = 60_000; // ms between two looks, also where nobody says that there is news
const SPREAD = 700; // ms: a thousand pages do not ask in the same instant

export async function ask(path) {
  const response = await fetch(path, { cache: "no-cache", headers: { accept: "application/json" } });
  if (!response.ok) throw Object.assign(new Error(`${response.status}`), { status: response.status });
  return response.json();
}

export class Feed {
  // `heard` is given what /v1/now says, `counted` the tallies in between, `told` how it goes.
  constructor({ heard, counted, told }) {
    Object.assign(this, { heard, counted, told, asking: null, stale: false });
    this.open();
    setInterval(() => { if (!document.hidden) this.refresh(); }, AT_LEAST);
    addEventListener("online", () => this.open());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.refresh(); });
  }

  open() {
    clearTimeout(this.later);
    this.source?.close();
    this.source = new EventSource("/v1/events?brief=1");
    this.source.addEventListener("open", () => { this.told("live"); this.refresh(); });
    this.source.addEventListener("slot", () => setTimeout(() => this.refresh(), Math.random() * SPREAD));
    this.source.addEventListener("counts", (event) => this.counted(JSON.parse(event.data)));
    this.source.addEventListener("error", () => this.lost());
  }

  lost() {
    this.told("lost");
    // Refused, rather than gone: the browser gives up on that.
    if (this.source.readyState === EventSource.CLOSED) {
      clearTimeout(this.later);
      this.later = setTimeout(() => this.open(), AGAIN * (1 + Math.random()));
    }
  }

  // One question at a time; what changes meanwhile is asked for once more.
  async refresh() {
    if (this.asking) { this.stale = true; return; }
    this.asking = true;
    try {
      this.heard(await ask("/v1/now"));
      this.told(this.source.readyState === EventSource.OPEN ? "live" : "lost");
    } catch (error) {
      this.told("lost");
      if (!(error instanceof TypeError) && error.status === undefined) throw error;
      setTimeout(() => this.refresh(), AGAIN);
    } finally {
      this.asking = false;
      if (this.stale) { this.stale = false; this.refresh(); }
    }
  }
}
