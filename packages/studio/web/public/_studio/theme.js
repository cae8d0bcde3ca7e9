// Runs before the page is painted, so that it does not flash in the other theme.
const theme = localStorage.getItem("recourse.theme")
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme
