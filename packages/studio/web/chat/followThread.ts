/** Following a thread: what happens elsewhere, such as the decision of an operator or a message from another device, changes its version. */
import { RequestFailed } from "../shared/api.ts"
import type { Thread } from "./server.ts"

/** So often a page asks that nothing is streamed to. */
const every = 2500

/** What a change is seen by. */
export const stateOf = ({ isRunning, isWaiting, version }: Thread): string =>
  `${version}${isRunning ? " running" : ""}${isWaiting ? " waiting" : ""}`

export interface Following {
  /** How the thread stands now; nothing if it is not asked for: a run is streamed, or the page is hidden. */
  readonly ask: (signal: AbortSignal) => Promise<Thread> | undefined
  /** The state that the page shows. */
  readonly shown: () => string | undefined
  readonly onChanged: () => void
}

/** Follows until what it answers is called. */
export const followThread = ({ ask, onChanged, shown }: Following): () => void => {
  const controller = new AbortController()
  const timer = setInterval(() => {
    const asked = document.hidden ? undefined : ask(controller.signal)
    if (asked === undefined) return
    const before = shown()
    asked.then(
      (thread) => {
        const isFresh = before !== undefined && shown() === before && stateOf(thread) !== before
        if (isFresh && !controller.signal.aborted) onChanged()
      },
      (error: unknown) => {
        // It was deleted elsewhere. A server that cannot be reached is asked again.
        if (error instanceof RequestFailed && error.status === 404 && before !== undefined) onChanged()
      }
    )
  }, every)
  return () => {
    clearInterval(timer)
    controller.abort()
  }
}
