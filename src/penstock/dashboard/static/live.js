// Keeps a page current: one event stream says that something changed, htmx fetches the page again, and the
// difference is applied in place, so that focus, scroll position and selection stay where they are.
"use strict";
(() => {
  document.documentElement.classList.add("scripted");

  // Makes `from` look like `to`. Elements marked data-keep belong to another script.
  const morph = (from, to) => {
    if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) { from.replaceWith(to); return; }
    if (from.nodeType !== Node.ELEMENT_NODE) {
      if (from.data !== to.data) from.data = to.data;
      return;
    }
    if (from.hasAttribute("data-keep")) return;
    for (const { name } of [...from.attributes]) {
      if (!to.hasAttribute(name) && !(name === "open" && from.nodeName === "DETAILS")) from.removeAttribute(name);
    }
    for (const { name, value } of [...to.attributes]) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    let [cursor, named] = [from.firstChild, null];
    for (const node of [...to.childNodes]) {
      let match = null;
      if (node.id) match = (named ??= new Map([...from.children].filter((child) => child.id).map((child) => [child.id, child]))).get(node.id);
      else if (cursor && !cursor.id && cursor.nodeName === node.nodeName) match = cursor;
      if (!match) { from.insertBefore(node, cursor); continue; }
      if (match === cursor) cursor = cursor.nextSibling; else from.insertBefore(match, cursor);
      morph(match, node);
    }
    while (cursor) { const next = cursor.nextSibling; cursor.remove(); cursor = next; }
  };
  htmx.defineExtension("morph", {
    isInlineSwap: (style) => style === "morph",
    handleSwap: (style, target, fragment) => {
      if (style !== "morph" || !fragment.firstElementChild) return false;
      morph(target, fragment.firstElementChild);
      tellTime();
      document.dispatchEvent(new CustomEvent("penstock-morphed"));
      return [target];
    },
  });

  // Moments are written in UTC by the server and shown in the reader's own zone, young ones as an age.
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
  const age = (seconds) => {
    if (seconds < 2) return "just now";
    if (seconds < 60) return `${Math.floor(seconds)} s ago`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
    return `${Math.floor(seconds / 86400)} d ago`;
  };
  const tellTime = () => {
    const now = Date.now();
    for (const element of document.querySelectorAll("time[datetime]")) {
      const moment = new Date(element.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      const today = moment.toDateString() === new Date(now).toDateString();
      const text = element.classList.contains("age")
        ? age((now - moment) / 1000)
        : (today ? "" : `${day.format(moment)}, `) + clock.format(moment);
      if (element.textContent !== text) element.textContent = text;
      if (!element.title) element.title = full.format(moment);
    }
  };
  tellTime();
  setInterval(tellTime, 1000);

  document.addEventListener("htmx:afterSettle", tellTime);

  document.addEventListener("click", async (event) => {
    const copied = event.target.closest?.("button[data-copy]");
    if (!copied) return;
    try {
      await navigator.clipboard.writeText(copied.dataset.copy);
      copied.textContent = "Copied";
    } catch {
      copied.textContent = "Select it";
    }
    setTimeout(() => { copied.textContent = "Copy"; }, 1500);
  });

  const button = document.getElementById("pulse");
  const said = document.getElementById("pulse-said");
  const show = (state, text) => {
    if (button.dataset.state === state) return;
    button.dataset.state = state;
    button.textContent = text;
    said.textContent = `Updates: ${text}`;
  };
  let stream = null;
  let version = document.body.dataset.version; // of what the page shows
  let newest = version;
  // A big page is fetched at its own pace; what happened in between comes with the next fetch.
  const pace = Number(document.body.dataset.pace) || 0;
  let waiting = null;
  let fetched = 0;
  const changed = () => {
    if (waiting !== null) return;
    waiting = setTimeout(() => {
      [waiting, fetched, version] = [null, Date.now(), newest];
      htmx.trigger(document.body, "penstock:changed");
      document.dispatchEvent(new CustomEvent("penstock-changed"));
    }, Math.max(0, fetched + pace - Date.now()));
  };
  const open = () => {
    stream = new EventSource("/live");
    stream.addEventListener("open", () => show("live", "Live"));
    stream.addEventListener("version", (message) => {
      show("live", "Live");
      newest = message.data;
      if (newest !== version) changed();
    });
    stream.addEventListener("error", () => {
      show("lost", "Reconnecting");
      // A stream that the server refused is closed for good; the dashboard may come back on this port.
      if (stream && stream.readyState === EventSource.CLOSED) setTimeout(() => { if (stream) { stream.close(); open(); } }, 2000);
    });
  };
  // What was still to be fetched is told again by the next stream.
  const close = () => {
    if (stream) stream.close();
    clearTimeout(waiting);
    [stream, waiting] = [null, null];
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const paused = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!paused));
    if (paused) open(); else { close(); show("paused", "Paused"); }
  });
  // A browser opens six connections to a server at most: hidden tabs give theirs back.
  document.addEventListener("visibilitychange", () => {
    if (button.getAttribute("aria-pressed") === "true") return;
    if (document.hidden) close(); else if (!stream) open();
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => { if (event.persisted && !stream && button.getAttribute("aria-pressed") !== "true") open(); });
  open();
})();
