// Small conveniences; every page works without them.
"use strict";

(() => {
  // "/" goes to the search, unless something is being typed. Escape, and a press elsewhere, close the open menu.
  const search = document.getElementById("search");
  const shut = (inside) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(inside)) menu.open = false;
  };
  document.addEventListener("click", (event) => shut(event.target));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const open = event.target.closest && event.target.closest("details.menu[open]");
      shut(null);
      if (open) open.querySelector("summary").focus();
    }
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing || !search) return;
    search.focus();
    event.preventDefault();
  });

  // The zone of this browser, for the switch in the menu of the account.
  const zone = document.querySelector("#time-zone input[name=zone][type=text]");
  if (zone) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";

  // Two minutes before the session ends for want of a request.
  const warning = document.getElementById("session-end");
  if (!warning) return;
  const seconds = Number(warning.dataset.idleSeconds);
  setTimeout(() => { warning.hidden = false; }, Math.min(Math.max(seconds - 120, 1) * 1000, 0x7fffffff));
})();
