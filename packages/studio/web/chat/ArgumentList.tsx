/** Arguments, one below the other, unchanged: a deciding person sees every character. */
import { quoted, seen } from "../shared/exact.ts"
import { JsonView } from "../shared/JsonView.tsx"
import { humanized } from "./sentences.ts"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isPlain = (value: unknown): boolean => typeof value !== "object" || value === null

const Plain = ({ value }: { readonly value: unknown }) => (
  <span className="argument-value" dir="auto">{typeof value === "string" ? quoted(value) : String(value)}</span>
)

const Value = ({ name, value }: { readonly name: string; readonly value: unknown }) => {
  if (isPlain(value)) return <Plain value={value} />
  if (!Array.isArray(value) || value.length === 0 || !value.every(isPlain)) {
    return <JsonView label={humanized(name)} value={value} />
  }
  return (
    <ul className="argument-items">
      {value.map((item, index) => (
        <li key={index}>
          <Plain value={item} />
        </li>
      ))}
    </ul>
  )
}

export const ArgumentList = ({ value }: { readonly value: unknown }) => {
  if (!isRecord(value)) return <JsonView label="Value" value={value} />
  const entries = Object.entries(value)
  if (entries.length === 0) return <p className="argument-none">Without arguments</p>
  return (
    <dl className="arguments">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{seen(humanized(name))}</dt>
          <dd>
            <Value name={name} value={value} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
