import assert from "node:assert/strict";
import { test } from "node:test";
import { throttled } from "../../static/js/throttle.js";
import { Clock } from "./dom.mjs";

test("it acts at once, then at most once in a gap, and makes up for what came in between", async () => {
  const clock = new Clock();
  const times = [];
  const request = throttled(() => times.push(clock.now), 500, clock);

  request();
  await clock.pass(0);
  for (let number = 0; number < 10; number += 1) {
    request();
    await clock.pass(60);
  }
  await clock.pass(5000);

  assert.deepEqual(times, [0, 500, 1000]);
});

test("it acts no more when nothing is asked", async () => {
  const clock = new Clock();
  let count = 0;
  throttled(() => (count += 1), 500, clock)();
  await clock.pass(10000);
  assert.equal(count, 1);
});
