// Small conveniences; every page works without them.
"use strict";

(() => {
  // "/" goes to the search, unless something is being typed.
  const search = document.getElementById("search");
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing || !search) return;
    search.focus();
    event.preventDefault();
  });

  // Two minutes before the session ends for want of a request.
  const warning = document.getElementById("session-end");
  if (!warning) return;
  const seconds = Number(warning.dataset.idleSeconds);
  setTimeout(() => { warning.hidden = false; }, Math.min(Math.max(seconds - 120, 1) * 1000, 0x7fffffff));
})();
