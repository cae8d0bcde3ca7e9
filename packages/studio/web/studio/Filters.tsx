/** Filter of the runs. */
import { Button } from "../shared/Button.tsx"
import { type Filter, noFilter } from "./runs.ts"

const statuses = ["running", "waiting", "completed", "failed", "cancelled", "queued"]

const states = [["unknown", "outcome unknown"], ["undone", "undone"], ["retried", "retried"], [
  "fixed",
  "repaired"
]] as const

const texts = [
  ["agent", "Agent"],
  ["owner", "Owner"],
  ["tool", "Tool"],
  ["code", "Failure code"],
  ["run", "Run id"]
] as const

const numbers = [["seconds", "Worked at least, seconds"], ["cost", "Cost at least"]] as const

const times = [["since", "Started since"], ["until", "Started before"]] as const

interface Props {
  readonly filter: Filter
  readonly onChange: (filter: Filter) => void
}

const isMore = (filter: Filter): boolean => [...texts, ...numbers, ...times].some(([key]) => filter[key] !== "")

export const Filters = ({ filter, onChange }: Props) => {
  const field = (key: keyof Filter) => ({
    value: filter[key],
    onChange: (event: { readonly target: { readonly value: string } }) =>
      onChange({ ...filter, [key]: event.target.value })
  })
  return (
    <form className="filters" role="search" aria-label="Runs" onSubmit={(event) => event.preventDefault()}>
      <input
        className="field wide"
        type="search"
        aria-label="Asked or answered"
        placeholder="Asked or answered"
        dir="auto"
        {...field("text")}
      />
      <select className="field wide" aria-label="Status" {...field("status")}>
        <option value="">All runs</option>
        {statuses.map((status) => <option key={status}>{status}</option>)}
        <optgroup label="What happened">
          {states.map(([value, label]) => <option key={value} value={value}>{label}</option>)}
        </optgroup>
      </select>
      <details className="wide" open={isMore(filter) || undefined}>
        <summary>More filters</summary>
        <div className="filters more">
          {texts.map(([key, label]) => (
            <input key={key} className="field" type="search" aria-label={label} placeholder={label} {...field(key)} />
          ))}
          {numbers.map(([key, label]) => (
            <input
              key={key}
              className="field wide"
              inputMode="decimal"
              aria-label={label}
              placeholder={label}
              {...field(key)}
            />
          ))}
          {times.map(([key, label]) => (
            <label key={key} className="wide">
              {label} <input className="field" type="datetime-local" {...field(key)} />
            </label>
          ))}
        </div>
      </details>
      {filter.like === ""
        ? null
        : (
          <p className="wide like">
            <span>Runs that ended like one</span>
            <Button size="small" onClick={() => onChange({ ...filter, like: "" })}>Show all</Button>
          </p>
        )}
      {JSON.stringify(filter) === JSON.stringify(noFilter) || filter.like !== "" ?
        null :
        <Button size="small" variant="quiet" className="wide" onClick={() => onChange(noFilter)}>Clear filters</Button>}
    </form>
  )
}
