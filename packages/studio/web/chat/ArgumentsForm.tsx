/**
 * Editable arguments before a call runs: a field for each. Values other than texts, numbers and booleans are edited as
 * JSON.
 */
import { type FormEvent, useId, useState } from "react"
import { Button } from "../shared/Button.tsx"
import { humanized } from "./sentences.ts"

export type Values = Readonly<Record<string, unknown>>

export const isEditable = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0

export const valuesOf = (value: unknown): Values => isEditable(value) ? value : {}

type Kind = "text" | "number" | "boolean" | "json"

const kindOf = (value: unknown): Kind =>
  typeof value === "string"
    ? "text"
    : typeof value === "number"
    ? "number"
    : typeof value === "boolean"
    ? "boolean"
    : "json"

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, undefined, typeof value === "object" ? 2 : undefined) ?? ""

/** Returns the value of a text, or its fault. */
const read = (kind: Kind, text: string): { readonly value: unknown } | { readonly problem: string } => {
  if (kind === "text") return { value: text }
  if (kind === "number") {
    const number = Number(text)
    return text.trim() === "" || !Number.isFinite(number) ? { problem: "This has to be a number." } : { value: number }
  }
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { problem: "This is not JSON." }
  }
}

interface Props {
  readonly values: Values
  readonly onSubmit: (values: Values) => void
  readonly onCancel: () => void
}

export const ArgumentsForm = ({ onCancel, onSubmit, values }: Props) => {
  const id = useId()
  const [texts, setTexts] = useState(() =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]))
  )
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const change = (name: string, text: string): void => setTexts((known) => ({ ...known, [name]: text }))
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const edited: Record<string, unknown> = {}
    const found: Record<string, string> = {}
    for (const [name, value] of Object.entries(values)) {
      const answer = read(kindOf(value), texts[name] ?? "")
      if ("problem" in answer) found[name] = answer.problem
      else edited[name] = answer.value
    }
    setProblems(found)
    const [wrong] = Object.keys(found)
    if (wrong === undefined) onSubmit(edited)
    else event.currentTarget.querySelector<HTMLElement>(`[name="${CSS.escape(wrong)}"]`)?.focus()
  }
  return (
    <form className="arguments-form" onSubmit={submit} noValidate>
      {Object.entries(values).map(([name, value], index) => {
        const kind = kindOf(value)
        const field = `${id}-${index}`
        const problem = problems[name]
        const common = {
          id: field,
          name,
          className: "field",
          dir: "auto",
          value: texts[name] ?? "",
          "aria-invalid": problem !== undefined,
          "aria-describedby": problem === undefined ? undefined : `${field}-problem`,
          autoFocus: index === 0
        }
        return (
          <div key={name}>
            <label className="label" htmlFor={field}>{humanized(name)}</label>
            {kind === "boolean"
              ? (
                <select {...common} onChange={(event) => change(name, event.target.value)}>
                  <option value="true">yes</option>
                  <option value="false">no</option>
                </select>
              )
              : kind === "json" || (texts[name] ?? "").length > 60
              ? (
                <textarea
                  {...common}
                  rows={kind === "json" ? 4 : 3}
                  data-kind={kind}
                  onChange={(event) => change(name, event.target.value)}
                />
              )
              : (
                <input
                  {...common}
                  inputMode={kind === "number" ? "decimal" : "text"}
                  onChange={(event) => change(name, event.target.value)}
                />
              )}
            {problem === undefined ? null : <p className="field-problem" id={`${field}-problem`}>{problem}</p>}
          </div>
        )
      })}
      <div className="approval-actions">
        <Button type="submit" variant="primary" icon="check">Allow with these</Button>
        <Button variant="quiet" onClick={onCancel}>Back</Button>
      </div>
    </form>
  )
}
