/** The reader's place: the thread and the agent, in the address, so that a reload and a link show the same. */
import { useSyncExternalStore } from "react"

export interface Place {
  /** No thread: a new conversation. */
  readonly thread: string | undefined
  readonly agent: string | undefined
}

const listeners = new Set<() => void>()
let place: Place

const read = (): Place => {
  const { searchParams } = new URL(location.href)
  return { thread: searchParams.get("thread") ?? undefined, agent: searchParams.get("agent") ?? undefined }
}

const changed = (): void => {
  place = read()
  for (const listener of listeners) listener()
}

place = read()
addEventListener("popstate", changed)

export const placeUrl = ({ agent, thread }: Place): string => {
  const url = new URL(location.href)
  url.search = ""
  url.hash = ""
  if (agent !== undefined) url.searchParams.set("agent", agent)
  if (thread !== undefined) url.searchParams.set("thread", thread)
  return url.href
}

/** Goes elsewhere. `replace`: going back leads to the place before. */
export const go = (to: Partial<Place>, options?: { readonly replace?: boolean }): void => {
  const url = placeUrl({ ...place, ...to })
  if (url === location.href) return
  if (options?.replace === true) history.replaceState(null, "", url)
  else history.pushState(null, "", url)
  changed()
}

export const usePlace = (): Place =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, () => place)
