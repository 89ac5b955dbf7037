// Calls `act` at once, then at most once per `gapMs`; a call in between is made up for at the end of the gap.
export function throttled(act, gapMs, timers = globalThis) {
  let last = -Infinity;
  let waiting = null;
  return function request() {
    if (waiting !== null) return;
    const now = timers.performance.now();
    const wait = Math.max(0, last + gapMs - now);
    waiting = timers.setTimeout(() => {
      waiting = null;
      last = timers.performance.now();
      act();
    }, wait);
  };
}
