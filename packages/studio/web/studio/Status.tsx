/** State of a run or a step: a dot, and a word for readers who see no colours. */

const tones: Readonly<Record<string, string>> = {
  queued: "mute",
  running: "accent",
  waiting: "warn",
  completed: "good",
  success: "good",
  failed: "bad",
  failure: "bad",
  cancelled: "mute",
  stopped: "mute",
  unknown: "warn",
  undone: "mute",
  not_undone: "warn"
}

const words: Readonly<Record<string, string>> = { unknown: "outcome unknown", not_undone: "not undone" }

export const Status = ({ status }: { readonly status: string }) => (
  <span className={`status ${tones[status] ?? "mute"}`} data-status={status}>
    <span className="dot" aria-hidden="true" />
    {words[status] ?? status}
  </span>
)
