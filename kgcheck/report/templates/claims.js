"use strict";
// Without this script the page shows everything; with it, papers can be searched and relations left out.
(() => {
  const byId = (id) => document.getElementById(id);
  const form = byId("filters");
  const map = byId("map");
  const papers = [...document.querySelectorAll("details.paper")];
  const rows = [...document.querySelectorAll("tr[data-paper]")];
  const nodes = [...document.querySelectorAll(".node")];
  const edges = [...map.querySelectorAll(".edge")];
  const groups = [...document.querySelectorAll("article.group")];
  const number = (n) => n.toLocaleString("en-US");
  const texts = new Map();
  // Only its own title and claims: what others say of them would find those, too.
  const own = (paper) =>
    [paper.querySelector("summary"), paper.querySelector(".more"), ...paper.querySelectorAll(".claims > li > blockquote")]
      .map((node) => node.textContent)
      .join(" ")
      .toLowerCase();
  const text = (paper) => texts.get(paper) ?? texts.set(paper, own(paper)).get(paper);

  const filter = () => {
    const words = byId("q").value.toLowerCase().split(/\s+/).filter(Boolean);
    const relations = new Set([...form.querySelectorAll("[name=relation]:checked")].map((box) => box.value));
    const fitting = new Set(papers.filter((p) => words.every((w) => text(p).includes(w))).map((p) => p.dataset.paper));
    // A paper that is in the picture and not in the list is there as long as nothing is searched for.
    const fits = (paper) => fitting.has(paper) || !words.length;
    for (const paper of [...papers, ...rows]) paper.hidden = !fits(paper.dataset.paper);
    for (const node of nodes) node.classList.toggle("off", !fits(node.dataset.paper));
    for (const edge of edges) {
      edge.toggleAttribute("hidden", !relations.has(edge.dataset.relation));
      edge.classList.toggle("off", !fits(edge.dataset.one) && !fits(edge.dataset.other));
    }
    for (const group of groups) {
      const sides = [...group.querySelectorAll("li[data-paper]")];
      group.hidden = !relations.has(group.dataset.relation) || !sides.some((side) => fits(side.dataset.paper));
    }
    byId("none").hidden = fitting.size > 0 || !papers.length;
    const all = fitting.size === papers.length;
    byId("count").textContent = all ? `${number(fitting.size)} papers` : `${number(fitting.size)} of ${number(papers.length)} papers`;
  };

  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 80);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));

  const shown = () => papers.filter((paper) => !paper.hidden);
  byId("open").addEventListener("click", () => shown().forEach((paper) => (paper.open = true)));
  byId("close").addEventListener("click", () => shown().forEach((paper) => (paper.open = false)));

  // The lines of the paper that is looked at stand out.
  const light = (paper) => {
    map.classList.toggle("lit", paper !== null);
    for (const edge of edges) edge.classList.toggle("on", [edge.dataset.one, edge.dataset.other].includes(paper));
  };
  for (const node of nodes) {
    for (const event of ["pointerenter", "focus"]) node.addEventListener(event, () => light(node.dataset.paper));
    for (const event of ["pointerleave", "blur"]) node.addEventListener(event, () => light(null));
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = shown().filter((paper) => !paper.open);
    opened.forEach((paper) => (paper.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((paper) => (paper.open = false)));

  // A link to a paper opens it, also where it is the one that was followed last.
  const open = (hash) => {
    const target = hash.startsWith("#p-") && byId(decodeURIComponent(hash.slice(1)));
    if (target) {
      target.hidden = false;
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", () => open(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    const hash = link && link.getAttribute("href");
    if (hash && hash === location.hash) open(hash);
  });

  form.hidden = false;
  filter();
  open(location.hash);
})();
