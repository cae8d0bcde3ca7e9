/** Chooses between the system's theme, light and dark. */
import { IconButton } from "./Button.tsx"
import { setTheme, type Theme, useTheme } from "./theme.ts"

const next: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" }
const icons = { system: "system", light: "sun", dark: "moon" } as const
const names: Readonly<Record<Theme, string>> = { system: "as the system", light: "light", dark: "dark" }

export const ThemeToggle = () => {
  const theme = useTheme()
  return (
    <IconButton
      variant="quiet"
      icon={icons[theme]}
      label={`Theme: ${names[theme]}. Change to: ${names[next[theme]]}`}
      onClick={() => setTheme(next[theme])}
    />
  )
}
