/** A JSON value as text. Whatever it holds, it is shown as characters. */
import { exact } from "./exact.ts"

const limit = 20_000

export const JsonView = ({ label, value }: { readonly label: string; readonly value: unknown }) => {
  const text = exact(value)
  const shown = text.length > limit
    ? `${text.slice(0, limit)}\n… ${(text.length - limit).toLocaleString("en")} more characters`
    : text
  return <pre className="json" tabIndex={0} role="region" aria-label={label}>{shown}</pre>
}
