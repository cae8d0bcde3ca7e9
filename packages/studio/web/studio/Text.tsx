/** Texts of programs and models: shown in text form, never as HTML, and cut if they are long. */
import { useState } from "react"
import { Button } from "../shared/Button.tsx"
import { pretty } from "./format.ts"

const most = 4000

/** A value as JSON, or a text as it is. */
export const Text = ({ label, value }: { readonly label: string; readonly value: unknown }) => {
  const [isWhole, setWhole] = useState(false)
  const text = pretty(value)
  const isCut = !isWhole && text.length > most
  return (
    <div className="text">
      <h4>{label}</h4>
      <pre tabIndex={0} dir="auto" role="region" aria-label={label}>{isCut ? `${text.slice(0, most)}…` : text}</pre>
      {isCut
        ? (
          <Button size="small" onClick={() => setWhole(true)}>
            Show all {text.length.toLocaleString("en")} characters
          </Button>
        )
        : null}
    </div>
  )
}
