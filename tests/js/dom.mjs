// A page small enough for tests: elements with data, classes, attributes and listeners; nothing is laid out.
export class Element {
  constructor(tag, { dataset = {}, classes = [], value = "", children = [] } = {}) {
    Object.assign(this, { tag, dataset, classes, value, children, attributes: {}, listeners: {}, textContent: "" });
    this.html = "";
    this.open = false;
  }

  set innerHTML(html) {
    this.html = html;
    this.children = [...html.matchAll(/<(details|pre)( open)?/g)].map(([, tag, open]) => {
      return Object.assign(new Element(tag), { open: Boolean(open), scrollTop: 0, scrollLeft: 0 });
    });
  }

  get innerHTML() {
    return this.html;
  }

  get dateTime() {
    return this.attributes.datetime;
  }

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  addEventListener(name, listener) {
    this.listeners[name] = listener;
  }

  contains(other) {
    return this === other || this.children.some((each) => each.contains(other));
  }

  matches(selector) {
    return selector.split(",").some((each) => each.trim() === this.tag);
  }

  focus() {
    this.ownerDocument.activeElement = this;
  }

  querySelectorAll(selector) {
    const wanted = selector.split(",").map((each) => each.trim().split(/[ []/)[0]);
    return this.all().filter((each) => wanted.some((one) => one === each.tag || each.classes.includes(one.slice(1))));
  }

  all() {
    return this.children.flatMap((each) => [each, ...each.all()]);
  }
}

export class Page extends Element {
  constructor(children = []) {
    super("document", { children });
    this.documentElement = new Element("html");
    this.activeElement = null;
    this.hidden = false;
    this.cookie = "";
    for (const each of this.all()) each.ownerDocument = this;
  }

  querySelector(selector) {
    return this.querySelectorAll(selector)[0] || null;
  }

  querySelectorAll(selector) {
    const attribute = /^\[data-([a-z]+)\]$/.exec(selector);
    if (attribute) return this.all().filter((each) => attribute[1] in each.dataset);
    if (selector === "time[datetime]") return this.all().filter((each) => each.tag === "time");
    if (selector === ".themes button") return this.all().filter((each) => each.tag === "button");
    return super.querySelectorAll(selector);
  }
}

// Time that passes only when a test says so.
export class Clock {
  constructor() {
    this.now = 0;
    this.waiting = [];
    this.performance = { now: () => this.now };
    this.setTimeout = (act, delay) => this.waiting.push({ act, at: this.now + delay });
  }

  async pass(ms) {
    const until = this.now + ms;
    for (;;) {
      const due = this.waiting.filter((each) => each.at <= until).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.waiting.splice(this.waiting.indexOf(due), 1);
      this.now = Math.max(this.now, due.at);
      due.act();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.now = until;
  }
}
