/** What of the runs is listed. */
import type { Filter } from "./runs.ts"

const statuses = ["running", "waiting", "completed", "failed", "cancelled", "queued"]

const texts = [["agent", "Agent"], ["owner", "Owner"], ["run", "Run id"]] as const

export const Filters = (
  { filter, onChange }: { readonly filter: Filter; readonly onChange: (filter: Filter) => void }
) => (
  <form className="filters" role="search" aria-label="Runs" onSubmit={(event) => event.preventDefault()}>
    <select
      className="field"
      aria-label="Status"
      value={filter.status}
      onChange={(event) => onChange({ ...filter, status: event.target.value })}
    >
      <option value="">All statuses</option>
      {statuses.map((status) => <option key={status}>{status}</option>)}
    </select>
    {texts.map(([key, label]) => (
      <input
        key={key}
        className="field"
        type="search"
        aria-label={label}
        placeholder={label}
        value={filter[key]}
        onChange={(event) => onChange({ ...filter, [key]: event.target.value })}
      />
    ))}
  </form>
)
