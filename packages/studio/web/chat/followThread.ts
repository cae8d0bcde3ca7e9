/**
 * Following a thread: changes by others, such as an operator's decision or a message from another device, change its
 * version.
 */
import { RequestFailed } from "../shared/api.ts"
import type { Thread } from "./server.ts"

/** Poll interval of a page without a stream. */
const every = 2500

/** State by which a change is detected. */
export const stateOf = ({ isRunning, isWaiting, version }: Thread): string =>
  `${version}${isRunning ? " running" : ""}${isWaiting ? " waiting" : ""}`

export interface Following {
  /**
   * Returns the present state of the thread; `undefined` if there is no request: a run is streamed, or the page is
   * hidden.
   */
  readonly ask: (signal: AbortSignal) => Promise<Thread> | undefined
  /** The state that the page shows. */
  readonly shown: () => string | undefined
  readonly onChanged: () => void
}

/** Follows until the returned function is called. */
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
