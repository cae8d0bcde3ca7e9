/** A JSON value as text. Whatever it holds, it is shown as characters. */

const pretty = (value: unknown): string => {
  if (typeof value === "string") return value
  return JSON.stringify(value, undefined, 2) ?? "nothing"
}

const limit = 20_000

export const JsonView = ({ label, value }: { readonly label: string; readonly value: unknown }) => {
  const text = pretty(value)
  const shown = text.length > limit
    ? `${text.slice(0, limit)}\n… ${(text.length - limit).toLocaleString("en")} more characters`
    : text
  return <pre className="json" tabIndex={0} role="region" aria-label={label}>{shown}</pre>
}
