// Fragments of a page: which topics they follow, where they are fetched, how they are put in place.

export function topicsOf(fragments) {
  const topics = fragments.flatMap((each) => (each.dataset.topics || "").split(","));
  return [...new Set(topics.filter(Boolean))].sort();
}

export function follows(fragment, topic) {
  return (fragment.dataset.topics || "").split(",").includes(topic);
}

export function fragmentUrl(location, name) {
  const url = new URL(location.href);
  url.searchParams.set("fragment", name);
  url.hash = "";
  return url.href;
}

// Someone who types, or holds a part open, must not have it taken away.
function keepsReader(fragment) {
  const active = fragment.ownerDocument.activeElement;
  return Boolean(active && fragment.contains(active) && active.matches("input, select, textarea"));
}

function openParts(fragment) {
  return [...fragment.querySelectorAll("details")].map((each) => each.open);
}

function scrolls(fragment) {
  return [...fragment.querySelectorAll("pre, .scroll")].map((each) => [each.scrollTop, each.scrollLeft]);
}

export function replace(fragment, html) {
  if (fragment.lastHtml === html || keepsReader(fragment)) return false;
  const wasOpen = openParts(fragment);
  const places = scrolls(fragment);
  const focused = fragment.ownerDocument.activeElement;
  const focusedAt = focused && fragment.contains(focused) ? focusables(fragment).indexOf(focused) : -1;
  const isFirst = fragment.lastHtml === undefined;
  fragment.lastHtml = html;
  fragment.innerHTML = html;
  fragment.querySelectorAll("details").forEach((each, index) => {
    if (index < wasOpen.length && !isFirst) each.open = wasOpen[index];
    else if (index < wasOpen.length) each.open = each.open || wasOpen[index];
  });
  fragment.querySelectorAll("pre, .scroll").forEach((each, index) => {
    if (places[index]) [each.scrollTop, each.scrollLeft] = places[index];
  });
  if (focusedAt >= 0) focusables(fragment)[focusedAt]?.focus({ preventScroll: true });
  return true;
}

function focusables(fragment) {
  return [...fragment.querySelectorAll("a[href], button, summary, [tabindex]")];
}

export async function refetch(fragment, location, fetching) {
  const answer = await fetching(fragmentUrl(location, fragment.dataset.fragment), {
    headers: { Accept: "text/html" },
    credentials: "same-origin",
  });
  if (answer.ok) replace(fragment, await answer.text());
  return answer.status;
}
