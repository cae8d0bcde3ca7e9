/** The choice in the address of the page. Each change is an entry of the history. */
import { useSyncExternalStore } from "react"
import { type Choice, parseChoice, printChoice } from "../src/choice.ts"

const listeners = new Set<() => void>()

const subscribe = (listener: () => void): () => void => {
  listeners.add(listener)
  addEventListener("popstate", listener)
  return () => {
    listeners.delete(listener)
    removeEventListener("popstate", listener)
  }
}

/** Writes a choice into the address. The choice that it has already is no new entry. */
export const setChoice = (choice: Choice): void => {
  const query = printChoice(choice)
  if (query === location.search) return
  history.pushState(null, "", query)
  for (const listener of listeners) listener()
}

/** Returns the query of the address. It changes with back and forward. */
export const useQuery = (): string => useSyncExternalStore(subscribe, () => location.search)

export { parseChoice }
