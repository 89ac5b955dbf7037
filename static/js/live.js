// Keeps fragments fresh: the socket says that a topic changed, the fragment is fetched through the ordinary view.
// A hint may be lost, so a slow poll goes on beside the socket, and a quicker one while it is off.
import { follows, refetch, topicsOf } from "./fragments.js";
import { throttled } from "./throttle.js";

export const GAP_MS = 500;
export const POLL_MS = 4000;
export const SLOW_POLL_MS = 20000;
const RETRY_MS = [500, 1000, 2000, 5000, 10000];

export function socketUrl(location, topics) {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}/ws/live?topics=${encodeURIComponent(topics.join(","))}`;
}

export function retryDelay(attempt) {
  return RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)];
}

export function startLive(document, window) {
  const fragments = [...document.querySelectorAll("[data-fragment]")];
  if (fragments.length === 0) return;
  const requests = new Map(fragments.map((each) => [each, throttled(() => refresh(each, window), GAP_MS, window)]));
  const refreshAll = () => requests.forEach((request) => request());
  const state = { isOn: false, attempt: 0 };
  connect(window, topicsOf(fragments), state, {
    opened: refreshAll,
    changed: (topic) => requests.forEach((request, each) => follows(each, topic) && request()),
  });
  poll(document, window, state, refreshAll);
}

async function refresh(fragment, window) {
  try {
    await refetch(fragment, window.location, window.fetch.bind(window));
  } catch {
    // The next hint or poll tries again.
  }
}

function connect(window, topics, state, act) {
  const socket = new window.WebSocket(socketUrl(window.location, topics));
  socket.onmessage = (message) => {
    const { listening, changed } = JSON.parse(message.data);
    if (listening) {
      state.isOn = true;
      // What changed before the socket listened was told to nobody.
      if (state.attempt > 0) act.opened();
      state.attempt = 0;
    }
    if (changed) act.changed(changed);
  };
  socket.onclose = () => {
    state.isOn = false;
    window.setTimeout(() => connect(window, topics, state, act), retryDelay(state.attempt));
    state.attempt += 1;
  };
}

function poll(document, window, state, refreshAll) {
  window.setTimeout(() => {
    if (!document.hidden) refreshAll();
    poll(document, window, state, refreshAll);
  }, state.isOn ? SLOW_POLL_MS : POLL_MS);
}
