/** The theme of the site, which the page shares with it: Starlight stores the reader's choice. */
import { useSyncExternalStore } from "react"

export type Theme = "dark" | "light" | "system"

const key = "starlight-theme"
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

// Another page of the site has changed it.
addEventListener("storage", (event) => {
  if (event.key === key) apply()
})

export const setTheme = (theme: Theme): void => {
  localStorage.setItem(key, theme === "system" ? "" : theme)
  apply()
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, read)
