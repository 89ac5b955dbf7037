import assert from "node:assert/strict";
import { test } from "node:test";
import { follows, fragmentUrl, refetch, replace, topicsOf } from "../../static/js/fragments.js";
import { Element, Page } from "./dom.mjs";

const fragment = (topics, children = []) => new Element("div", { dataset: { fragment: "rows", topics }, children });

test("it gathers the topics of all fragments once, in order", () => {
  assert.deepEqual(topicsOf([fragment("queue,boards"), fragment("queue"), fragment("")]), ["boards", "queue"]);
  assert.equal(follows(fragment("queue,boards"), "boards"), true);
  assert.equal(follows(fragment("queue,boards"), "board"), false);
});

test("it asks the same page for one fragment and keeps its query", () => {
  const url = fragmentUrl(new URL("http://zoo.test/submissions/?state=open#top"), "rows");
  assert.equal(url, "http://zoo.test/submissions/?state=open&fragment=rows");
});

test("it keeps open what the reader opened and closed what they closed", () => {
  const each = fragment("queue");
  new Page([each]);
  replace(each, "<details><pre>");
  each.children[0].open = true;
  each.children[1].scrollTop = 80;

  assert.equal(replace(each, "<details><pre>2"), true);
  assert.equal(each.children[0].open, true);
  assert.equal(each.children[1].scrollTop, 80);
  each.children[0].open = false;
  replace(each, "<details open><pre>3");
  assert.equal(each.children[0].open, false);
});

test("it changes nothing where nothing changed", () => {
  const each = fragment("queue");
  new Page([each]);
  replace(each, "<p>same");
  assert.equal(replace(each, "<p>same"), false);
});

test("it takes nothing away from who types", () => {
  const field = new Element("input");
  const each = fragment("queue", [field]);
  const page = new Page([each]);
  page.activeElement = field;
  assert.equal(replace(each, "<p>new"), false);
});

test("it puts an answer in place, and leaves the page alone on an error", async () => {
  const each = fragment("queue");
  new Page([each]);
  const asked = [];
  const answering = (status, text) => async (url) => {
    asked.push(url);
    return { ok: status < 400, status, text: async () => text };
  };
  const location = new URL("http://zoo.test/queue");

  assert.equal(await refetch(each, location, answering(200, "<p>rows")), 200);
  assert.equal(await refetch(each, location, answering(500, "<p>broken")), 500);

  assert.equal(each.innerHTML, "<p>rows");
  assert.equal(asked[0], "http://zoo.test/queue?fragment=rows");
});
