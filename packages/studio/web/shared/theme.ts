/** The theme that a person chose; without a choice, the system's. `theme.js` applies it before the page is painted. */
import { useSyncExternalStore } from "react"

export type Theme = "system" | "light" | "dark"

const key = "recourse.theme"
const listeners = new Set<() => void>()

const read = (): Theme => {
  const stored = localStorage.getItem(key)
  return stored === "light" || stored === "dark" ? stored : "system"
}

const apply = (): void => {
  const theme = read()
  if (theme === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = theme
  for (const listener of listeners) listener()
}

// Another tab has chosen.
addEventListener("storage", (event) => {
  if (event.key === key) apply()
})

export const setTheme = (theme: Theme): void => {
  if (theme === "system") localStorage.removeItem(key)
  else localStorage.setItem(key, theme)
  apply()
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, read)
