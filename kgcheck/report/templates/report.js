"use strict";
// Without this script the page shows everything; with it, findings can be filtered, opened together and printed open.
(() => {
  const byId = (id) => document.getElementById(id);
  const form = byId("filters");
  if (!form) return;
  const groups = [...document.querySelectorAll(".group")];
  const types = [...document.querySelectorAll(".type")];
  const fields = ["outcome", "type", "reason"];
  const findings = groups.flatMap((group) => [...group.querySelectorAll(".finding")].map((node) => ({ node, group })));
  const number = (n) => n.toLocaleString("en-US");

  // Reading the text of thousands of findings takes a moment, so it is read when it is first needed.
  const text = (finding) => (finding.text ??= finding.node.textContent.toLowerCase());

  const places = ({ node: { dataset } }) => [`label ${dataset.label}`, `relation ${dataset.relation}`, `label ${dataset.other}`];

  const filter = () => {
    const words = byId("q").value.toLowerCase().split(/\s+/).filter(Boolean);
    const place = byId("place").value;
    const wanted = new Map(groups.map((g) => [g, fields.every((f) => !byId(f).value || g.dataset[f] === byId(f).value)]));
    const seen = new Map(groups.map((g) => [g, 0]));
    let shown = 0;
    for (const finding of findings) {
      const fits =
        wanted.get(finding.group) &&
        (!place || places(finding).includes(place)) &&
        words.every((word) => text(finding).includes(word));
      finding.node.hidden = !fits;
      if (fits) {
        shown += 1;
        seen.set(finding.group, seen.get(finding.group) + 1);
      }
    }
    for (const [group, n] of seen) {
      group.hidden = n === 0;
      group.querySelector("h4 .n").textContent = number(n);
    }
    for (const type of types) type.hidden = !type.querySelector(".group:not([hidden])");
    byId("none").hidden = shown > 0;
    const all = shown === findings.length;
    byId("count").textContent = all ? `${number(shown)} findings` : `${number(shown)} of ${number(findings.length)} findings`;
  };

  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 80);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));

  const fitting = () => findings.map((f) => f.node).filter((node) => !node.hidden);
  byId("open").addEventListener("click", () => fitting().forEach((node) => (node.open = true)));
  byId("close").addEventListener("click", () => fitting().forEach((node) => (node.open = false)));

  // Paper cannot be opened: what fits the filter is printed open, and closed again after.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...fitting(), ...document.querySelectorAll("details.plain")].filter((node) => !node.open);
    opened.forEach((node) => (node.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((node) => (node.open = false)));

  // A link to a finding opens it.
  const follow = () => {
    const target = location.hash.startsWith("#f-") && byId(decodeURIComponent(location.hash.slice(1)));
    if (target) {
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", follow);

  // A reload may bring back what was typed before it.
  form.hidden = false;
  filter();
  follow();
})();
