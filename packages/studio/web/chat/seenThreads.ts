/** Threads that this browser has shown, with the version that it has shown: a greater one holds something new. */

const key = "recourse.seen"

/** So many threads are remembered. */
const most = 500

const read = (): Record<string, number> => {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? "{}")
    return typeof stored === "object" && stored !== null ? stored as Record<string, number> : {}
  } catch {
    return {}
  }
}

/** Records that a thread was shown. Without storage, no thread is new. */
export const seen = (thread: string, version: number): void => {
  const known = read()
  delete known[thread]
  known[thread] = version
  try {
    localStorage.setItem(key, JSON.stringify(Object.fromEntries(Object.entries(known).slice(-most))))
  } catch {
    // The browser has no storage.
  }
}

/** True if a thread has messages that this browser has not shown. A never shown one is not new: it may be old. */
export const isNew = (thread: string, version: number): boolean => {
  const known = read()
  return Object.hasOwn(known, thread) && known[thread]! < version
}
