import assert from "node:assert/strict";
import { test } from "node:test";
import { startThemes, themeCookie } from "../../static/js/themes.js";
import { Element, Page } from "./dom.mjs";

function page() {
  const buttons = ["light", "", "dark"].map((value) => new Element("button", { value }));
  const form = new Element("form", { classes: ["themes"], children: buttons });
  const document = new Page([form]);
  startThemes(document);
  const choose = (button) => {
    let prevented = false;
    form.listeners.submit({ submitter: button, preventDefault: () => (prevented = true) });
    return prevented;
  };
  return { document, buttons, choose };
}

test("it switches at once, keeps the choice and marks the button", () => {
  const { document, buttons, choose } = page();
  assert.equal(choose(buttons[2]), true);
  assert.equal(document.documentElement.dataset.theme, "dark");
  assert.match(document.cookie, /^theme=dark; path=\/; max-age=31536000/);
  assert.deepEqual(buttons.map((each) => each.attributes["aria-pressed"]), ["false", "false", "true"]);
});

test("it follows the system again", () => {
  const { document, buttons, choose } = page();
  choose(buttons[0]);
  choose(buttons[1]);
  assert.equal("theme" in document.documentElement.dataset, false);
  assert.equal(themeCookie(""), "theme=; path=/; max-age=0; samesite=lax");
});

test("it leaves a form alone that was sent without a button", () => {
  const { choose } = page();
  assert.equal(choose(null), false);
});
