import assert from "node:assert/strict";
import { test } from "node:test";
import { GAP_MS, POLL_MS, SLOW_POLL_MS, retryDelay, socketUrl, startLive } from "../../static/js/live.js";
import { Clock, Element, Page } from "./dom.mjs";

function site(...topics) {
  const clock = new Clock();
  const fragments = topics.map((each, index) => new Element("div", { dataset: { fragment: `f${index}`, topics: each } }));
  const page = new Page(fragments);
  const sockets = [];
  const asked = [];
  const window = Object.assign(clock, {
    location: new URL("http://zoo.test/queue"),
    fetch: async (url) => {
      asked.push(new URL(url).searchParams.get("fragment"));
      return { ok: true, status: 200, text: async () => `answer ${asked.length}` };
    },
    WebSocket: class {
      constructor(url) {
        this.url = url;
        sockets.push(this);
      }
      say(message) {
        this.onmessage({ data: JSON.stringify(message) });
      }
    },
  });
  startLive(page, window);
  return { page, clock, sockets, asked, fragments };
}

test("it names the socket after the page's host and scheme", () => {
  assert.equal(socketUrl(new URL("http://zoo.test:8000/"), ["boards", "queue"]), "ws://zoo.test:8000/ws/live?topics=boards%2Cqueue");
  assert.equal(socketUrl(new URL("https://zoo.test/"), ["queue"]), "wss://zoo.test/ws/live?topics=queue");
});

test("it refetches only the fragments that follow what changed", async () => {
  const { clock, sockets, asked, fragments } = site("queue", "boards,queue", "runners");
  sockets[0].say({ listening: ["boards", "queue", "runners"] });
  sockets[0].say({ changed: "queue" });
  await clock.pass(100);

  assert.deepEqual(asked.sort(), ["f0", "f1"]);
  assert.match(fragments[0].innerHTML, /^answer/);
});

test("it refetches at most twice a second however often something changes", async () => {
  const { clock, sockets, asked } = site("queue");
  sockets[0].say({ listening: ["queue"] });
  for (let number = 0; number < 100; number += 1) {
    sockets[0].say({ changed: "queue" });
    await clock.pass(20);
  }
  assert.ok(asked.length >= 4 && asked.length <= 5, `${asked.length} in two seconds`);
});

test("it polls while the socket is off, tries again, and catches up when it is back", async () => {
  const { clock, sockets, asked } = site("queue");
  sockets[0].onclose();
  await clock.pass(POLL_MS);
  assert.deepEqual(asked, ["f0"]);
  assert.equal(sockets.length, 2);

  sockets[1].say({ listening: ["queue"] });
  await clock.pass(GAP_MS);
  assert.equal(asked.length, 2);
});

test("it polls slowly beside a socket that works, since a hint may be lost", async () => {
  const { clock, sockets, asked } = site("queue");
  sockets[0].say({ listening: ["queue"] });
  await clock.pass(POLL_MS);
  const before = asked.length;
  await clock.pass(SLOW_POLL_MS);
  assert.equal(asked.length, before + 1);
});

test("it does not poll for a page that nobody sees", async () => {
  const { page, clock, asked } = site("queue");
  page.hidden = true;
  await clock.pass(60000);
  assert.deepEqual(asked, []);
});

test("it waits longer between tries, up to ten seconds", () => {
  const delays = [0, 1, 2, 3, 4, 99].map(retryDelay);
  assert.deepEqual(delays, [500, 1000, 2000, 5000, 10000, 10000]);
});

test("it opens no socket on a page without fragments", () => {
  assert.deepEqual(site().sockets, []);
});
