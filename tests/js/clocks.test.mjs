import assert from "node:assert/strict";
import { test } from "node:test";
import { ageText, clockOffset, spanText, tick } from "../../static/js/clocks.js";
import { Element, Page } from "./dom.mjs";

const START = Date.parse("2026-03-01T12:00:00Z");

test("it writes spans and ages as the server does", () => {
  assert.equal(spanText(0), "0\u00a0s");
  assert.equal(spanText(200), "3\u00a0min");
  assert.equal(ageText(7300), "2\u00a0h\u00a0ago");
  assert.equal(ageText(200000), "2\u00a0d\u00a0ago");
  assert.equal(ageText(3), "just now");
  assert.equal(ageText(-20), "just now");
});

test("it lets ages and running steps go on", () => {
  const age = new Element("time");
  age.setAttribute("datetime", "2026-03-01T11:59:00Z");
  const step = new Element("span", { dataset: { since: "2026-03-01T11:58:20Z" } });
  tick(new Page([age, step]), START);
  assert.equal(age.textContent, "1\u00a0min\u00a0ago");
  assert.equal(step.textContent, "for 1\u00a0min");
});

test("it trusts the server's clock over the reader's", () => {
  const page = new Page();
  page.documentElement.dataset.now = "2026-03-01T12:00:00Z";
  assert.equal(clockOffset(page, START - 5000), 5000);
  page.documentElement.dataset.now = "";
  assert.equal(clockOffset(page, START), 0);
});
