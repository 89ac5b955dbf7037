// Lets the times of a page go on: "4 s ago" where the server wrote it once, running seconds of the step that is on.
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

export function spanText(seconds) {
  const [size, unit] = UNITS.find(([size]) => seconds >= size) || UNITS[UNITS.length - 1];
  return `${Math.floor(Math.max(0, seconds) / size)}\u00a0${unit}`;
}

export function ageText(seconds) {
  return seconds < 10 ? "just now" : `${spanText(seconds)}\u00a0ago`;
}

export function tick(document, nowMs) {
  document.querySelectorAll("[data-since]").forEach((each) => {
    each.textContent = `for ${spanText((nowMs - Date.parse(each.dataset.since)) / 1000)}`;
  });
  document.querySelectorAll("time[datetime]").forEach((each) => {
    const text = ageText((nowMs - Date.parse(each.dateTime)) / 1000);
    if (each.textContent !== text) each.textContent = text;
  });
}

// The reader's clock may be wrong; the server's, sent with the page, is what the times are told by.
export function clockOffset(document, nowMs) {
  const served = Date.parse(document.documentElement.dataset.now || "");
  return Number.isNaN(served) ? 0 : served - nowMs;
}

export function startClocks(document) {
  const offset = clockOffset(document, Date.now());
  tick(document, Date.now() + offset);
  setInterval(() => document.hidden || tick(document, Date.now() + offset), 1000);
}
