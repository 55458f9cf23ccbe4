"use strict";
// Without this script a sentence leads to what it rests on; with it, that opens there, too.
(() => {
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const details = target && (target.tagName === "DETAILS" ? target : null);
    if (details) {
      details.open = true;
      details.querySelector("summary").focus({ preventScroll: true });
    }
  };
  addEventListener("hashchange", open);
  open();
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((node) => (node.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((node) => (node.open = false)));
})();
