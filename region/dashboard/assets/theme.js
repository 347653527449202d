// Runs before the first paint, so that a page set to dark never flashes light.
// Without a stored choice the style sheet follows the system.
'use strict';
try {
  const chosen = localStorage.getItem('weir-theme');
  if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; then the choice lasts as long as the page.
}
