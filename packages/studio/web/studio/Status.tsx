/** Where a run or a step stands: a dot, and a word for those who see no colours. */

const tones: Readonly<Record<string, string>> = {
  queued: "mute",
  running: "accent",
  waiting: "warn",
  completed: "good",
  success: "good",
  failed: "bad",
  failure: "bad",
  cancelled: "mute",
  stopped: "mute"
}

export const Status = ({ status }: { readonly status: string }) => (
  <span className={`status ${tones[status] ?? "mute"}`} data-status={status}>
    <span className="dot" aria-hidden="true" />
    {status}
  </span>
)
