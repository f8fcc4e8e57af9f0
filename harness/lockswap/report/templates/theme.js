// Before the page is drawn, so that it does not flash: the theme that was chosen earlier.
try {
  const chosen = localStorage.getItem("lockswap-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* a page from a file may have no storage */ }
