// Switches the colours at once; the form's own way, a round trip, stays for pages without scripts.
const YEAR_SECONDS = 365 * 24 * 3600;

export function themeCookie(theme) {
  const age = theme ? YEAR_SECONDS : 0;
  return `theme=${theme}; path=/; max-age=${age}; samesite=lax`;
}

export function applyTheme(document, theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  document.cookie = themeCookie(theme);
  document.querySelectorAll(".themes button").forEach((button) => {
    button.setAttribute("aria-pressed", String(button.value === theme));
  });
}

export function startThemes(document) {
  const form = document.querySelector(".themes");
  if (!form) return;
  form.addEventListener("submit", (event) => {
    if (!event.submitter) return;
    event.preventDefault();
    applyTheme(document, event.submitter.value);
  });
}
