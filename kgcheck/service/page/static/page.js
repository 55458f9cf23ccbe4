// The page works without this: it adds keys, a panel beside the list, and decisions without a new page.
const byId = (id) => document.getElementById(id);
const FRAGMENT = { "X-Fragment": "1" };

let waiting = 0;
const announce = (text, urgent = false) => {
  const [shown, other] = urgent ? [byId("alert"), byId("live")] : [byId("live"), byId("alert")];
  other.textContent = "";
  // The same words twice are announced twice only if they are new each time.
  shown.textContent = "";
  setTimeout(() => (shown.textContent = text), 30);
  clearTimeout(waiting);
  waiting = setTimeout(() => (shown.textContent = ""), urgent ? 10000 : 5000);
};

// Parsed into a document of its own: no script of it runs, and the policy of the page forbids it besides.
const policy = globalThis.trustedTypes?.createPolicy("kgcheck", { createHTML: (text) => text });
const parsed = (text) => {
  const trusted = policy ? policy.createHTML(text) : text;
  return new DOMParser().parseFromString(trusted, "text/html").body.firstElementChild;
};

const fetched = async (address, options = {}) => {
  let answer;
  try {
    answer = await fetch(address, { ...options, headers: FRAGMENT, credentials: "same-origin", redirect: "error" });
  } catch {
    throw new Error("The service cannot be reached: nothing was done.");
  }
  const text = await answer.text();
  if (answer.headers.get("Content-Type")?.includes("json")) {
    const problem = JSON.parse(text);
    throw new Error([problem.detail, problem.hint].filter(Boolean).join(". "));
  }
  const node = parsed(text);
  if (!answer.ok || !node) throw new Error(node?.textContent.trim() || `The service answered ${answer.status}.`);
  return node;
};

const rows = byId("rows");
const detail = byId("detail");
const WIDE = matchMedia("(min-width: 75rem)");
const DONE = { accept: "Accepted", reject: "Rejected", defer: "Deferred", reopen: "Undone, open again" };
const decided = [];
let current = null;
let loading = null;

const all = () => (rows ? [...rows.children] : []);
const link = (row) => row.querySelector("a");
const named = (row) => row.querySelector(".what")?.textContent.replace(/\s+/g, " ").trim() ?? "";

const load = async (row) => {
  loading?.abort();
  const mine = (loading = new AbortController());
  detail.setAttribute("aria-busy", "true");
  const empty = detail.querySelector(".empty");
  if (empty) empty.textContent = "Loading the evidence …";
  try {
    const node = await fetched(link(row).href, { signal: mine.signal });
    if (mine.signal.aborted) return;
    // Whoever has gone on into the panel stays in it.
    const within = detail.contains(document.activeElement);
    detail.replaceChildren(node);
    if (within) detail.focus();
    detail.scrollTop = 0;
    detail.hidden = false;
  } catch (error) {
    if (!mine.signal.aborted) announce(error.message, true);
  } finally {
    if (loading === mine) detail.removeAttribute("aria-busy");
  }
};

let soon = 0;
const choose = (row, { focus = true, at = 0 } = {}) => {
  if (!row) return;
  current?.classList.remove("current");
  current && link(current).removeAttribute("aria-current");
  current = row;
  row.classList.add("current");
  link(row).setAttribute("aria-current", "true");
  if (focus) link(row).focus();
  if (WIDE.matches) {
    clearTimeout(soon);
    // Whoever holds j down does not want every panel on the way.
    soon = setTimeout(() => load(row), at);
  }
};

const step = (by) => {
  const list = all();
  if (!list.length) return;
  const place = list.indexOf(current);
  const next = place < 0 ? 0 : Math.min(Math.max(place + by, 0), list.length - 1);
  if (place === list.length - 1 && by > 0) {
    const more = byId("next-page");
    announce(more ? "That was the last one of this page: Enter opens the next page." : "That was the last one.");
    more?.focus();
    return;
  }
  choose(list[next], { at: 60 });
};

const send = async (form, action, until) => {
  const data = new FormData(form);
  data.set("action", action);
  if (until) data.set("until", until);
  // Not form.action: the buttons have that name.
  return fetched(form.getAttribute("action"), { method: "POST", body: new URLSearchParams(data) });
};

// Decides about the finding that is chosen; its row is put in the place of the old one.
const decide = async (form, action, until) => {
  const name = form.closest("[data-finding]")?.dataset.finding;
  // Pressed twice: the first is on its way, or done.
  if (!name) return;
  const old = byId(`r-${name}`);
  const radios = [...form.querySelectorAll("input[name=choose]")];
  if (action === "accept" && radios.length && !radios.some((r) => r.checked) && !form.elements.choose_other?.value) {
    radios[0].focus();
    announce("Choose first which one is right.");
    return;
  }
  try {
    const row = await send(form, action, until);
    // What stands in the panel is of before this decision: it is loaded anew before anything else is decided there.
    form.closest("[data-finding]").removeAttribute("data-finding");
    const ticked = old?.querySelector("input")?.checked;
    old.replaceWith(row);
    if (ticked) row.querySelector("input").checked = true;
    if (action === "reopen") decided.splice(decided.lastIndexOf(name), decided.includes(name) ? 1 : 0);
    else decided.push(name);
    announce(`${DONE[action]}: ${named(row)}`);
    const next = action === "reopen" ? null : row.nextElementSibling;
    current = row;
    choose(next ?? row);
  } catch (error) {
    announce(error.message, true);
  }
};

const form = () => detail?.querySelector("form.decide");
const isReady = () => current && form()?.closest("[data-finding]")?.dataset.finding === current.dataset.finding;

// A key that comes before the panel waits for it, and is not lost.
const whenReady = async (work) => {
  if (!current) return;
  clearTimeout(soon);
  if (!isReady()) await load(current);
  if (isReady()) await work(form());
};

const undo = async () => {
  const name = decided.at(-1) ?? (current?.dataset.state !== "open" ? current?.dataset.finding : null);
  const row = name && byId(`r-${name}`);
  if (!row) return announce("There is nothing to undo.");
  choose(row);
  await whenReady((shown) => decide(shown, "reopen"));
};

const defer = () =>
  whenReady((shown) => {
    const dialog = byId("defer");
    const { min, value, defaultValue } = shown.elements.until;
    byId("defer-day").min = min;
    byId("defer-day").value = value || defaultValue;
    dialog.returnValue = "";
    dialog.onclose = () => {
      if (dialog.returnValue === "defer") decide(shown, "defer", byId("defer-day").value);
      else link(current).focus();
    };
    dialog.showModal();
  });

const count = () => {
  const ticked = all().filter((row) => row.querySelector("input")?.checked).length;
  if (byId("selected")) byId("selected").textContent = ticked || "";
};

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  a: () => whenReady((shown) => decide(shown, "accept")),
  r: () => whenReady((shown) => decide(shown, "reject")),
  d: defer,
  u: undo,
  n: () => whenReady((shown) => shown.elements.note.focus()),
  x: () => {
    const box = current?.querySelector("input");
    if (!box) return;
    box.checked = !box.checked;
    count();
    announce(`${box.checked ? "Selected" : "Not selected"}: ${named(current)}`);
  },
  "/": () => byId("q").focus(),
  "?": () => byId("keys").showModal(),
};

const OFF = "kgcheck-keys-off";
const isOff = () => localStorage.getItem(OFF) === "1";

const onKey = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const target = event.target;
  if (event.key === "Escape" && target.closest?.("input, .detail") && current) {
    link(current).focus();
    return;
  }
  if (event.key === "Enter" && target.matches?.(".decide [name=note]") && current) {
    event.preventDefault();
    link(current).focus();
    announce("The note is kept for what you decide now: a, r or d.");
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  if (target.matches?.("input:not([type=checkbox], [type=radio]), select, textarea")) return;
  const work = KEYS[event.key];
  if (!work || (isOff() && event.key !== "?")) return;
  event.preventDefault();
  // A key that is held down decides nothing, and keys that come fast wait for one another: each finds the row that it
  // was meant for.
  if (event.repeat && !"jk".includes(event.key)) return;
  queue = queue.then(work);
};
let queue = Promise.resolve();

if (rows || byId("q")) {
  byId("filters").open = matchMedia("(min-width: 48.01rem)").matches;
  const help = byId("help-button");
  help.hidden = false;
  help.addEventListener("click", () => byId("keys").showModal());
  byId("keys-on").checked = !isOff();
  byId("keys-on").addEventListener("change", (event) => localStorage.setItem(OFF, event.target.checked ? "0" : "1"));
  document.addEventListener("keydown", onKey);
}
if (rows) {
  detail.hidden = !WIDE.matches;
  rows.addEventListener("change", count);
  rows.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    const plain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.button);
    if (!row || !WIDE.matches || !plain || !event.target.closest("a")) return;
    // Enter on a row that is chosen already opens its page.
    if (event.detail === 0 && row === current) return;
    event.preventDefault();
    choose(row);
  });
  rows.addEventListener("focusin", (event) => {
    const row = event.target.closest(".row");
    if (row && row !== current && event.target.matches("a")) choose(row, { focus: false, at: 150 });
  });
  detail.addEventListener("submit", (event) => {
    const shown = event.target.closest("form.decide");
    if (!shown || !event.submitter) return;
    event.preventDefault();
    decide(shown, event.submitter.value);
  });
  count();
  if (WIDE.matches && all().length) choose(all()[0], { focus: false });
}

// A task is shown anew whenever it changes.
const task = byId("task");
if (task && !task.querySelector("[data-over='1']")) {
  const events = new EventSource(task.dataset.events);
  const show = async () => {
    try {
      const node = await fetched(location.href);
      task.replaceChildren(node);
      if (!node.dataset.over) return;
      events.close();
      byId("cancel")?.remove();
      announce(node.querySelector("p").textContent.replace(/\s+/g, " ").trim());
    } catch (error) {
      announce(error.message, true);
    }
  };
  events.addEventListener("task", show);
  events.addEventListener("end", show);
}
