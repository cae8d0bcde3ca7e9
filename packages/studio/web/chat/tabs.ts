/** Other tabs of this browser: each notifies the others of changed threads. */

export type Change = "began" | "ended" | "renamed" | "deleted"

interface Told {
  readonly thread: string
  readonly change: Change
}

const channel = new BroadcastChannel("recourse.chat")
const listeners = new Set<(told: Told) => void>()

channel.addEventListener("message", ({ data }: MessageEvent<Told>) => {
  for (const listener of listeners) listener(data)
})

/** Notifies the other tabs. */
export const tell = (thread: string, change: Change): void => channel.postMessage({ thread, change })

/** Hears the other tabs, until the answer is called. */
export const hear = (listener: (told: Told) => void): () => void => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
