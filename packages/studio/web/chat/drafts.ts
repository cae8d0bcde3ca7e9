/** Drafts: unsent texts, by thread, for as long as the tab exists. A reload finds them again. */

/** Messages that the agent has not read, and the text that is being written. */
export interface Draft {
  readonly text: string
  readonly queued: ReadonlyArray<{ readonly id: string; readonly text: string }>
}

const none: Draft = { text: "", queued: [] }

const keyOf = (thread: string): string => `recourse.draft.${thread}`

export const draftOf = (thread: string): Draft => {
  try {
    const stored = JSON.parse(sessionStorage.getItem(keyOf(thread)) ?? "null") as Draft | null
    return typeof stored?.text === "string" && Array.isArray(stored.queued) ? stored : none
  } catch {
    return none
  }
}

export const keepDraft = (thread: string, change: Partial<Draft>): void => {
  const draft = { ...draftOf(thread), ...change }
  try {
    if (draft.text === "" && draft.queued.length === 0) sessionStorage.removeItem(keyOf(thread))
    else sessionStorage.setItem(keyOf(thread), JSON.stringify(draft))
  } catch {
    // The browser has no storage.
  }
}
