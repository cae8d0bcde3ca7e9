/**
 * States of an attempt under an idempotency key, and the transitions between them, as data. The machine reads its
 * transitions from this table, and so does the picture in "The way of a call".
 */

/** The states of an attempt under its key. */
export const keyStates = {
  unclaimed: "It has not asked for the key.",
  claiming: "It asks the ledger for the key. Other attempts of the call wait for the answer.",
  executing: "The key is claimed, and the tool is executed under it.",
  abandoned: "An earlier call has claimed the key, and its outcome is not recorded.",
  reconciling: "The entry of the earlier call is taken over, and the service is asked if it happened.",
  completed: "The outcome of the key is in the ledger.",
  released: "It had no effect. The key is free again, or is another attempt's.",
  lost: "Another process has taken the key over.",
  unknown: "The outcome is not known. The entry stays, for `reconcile` or until it expires.",
  refused: "It may not run: the key has other arguments, or the ledger gives no answer."
} as const

/** A state of an attempt under its key. */
export type KeyState = keyof typeof keyStates

/** A transition of an attempt under its key. */
export interface KeyTransition {
  readonly from: ReadonlyArray<KeyState>
  readonly to: KeyState
  readonly when: string
}

/** All transitions between states. */
export const keyTransitions = {
  ask: { from: ["unclaimed"], to: "claiming", when: "no attempt of the call has the claim" },
  join: { from: ["unclaimed"], to: "executing", when: "another attempt of the call has the claim" },
  refuse: {
    from: ["unclaimed", "claiming", "abandoned", "reconciling", "executing"],
    to: "refused",
    when: "the key has other arguments, or the ledger gives no answer"
  },
  begin: { from: ["claiming"], to: "executing", when: "its intent is recorded" },
  replay: { from: ["claiming"], to: "completed", when: "the key has an outcome" },
  find: { from: ["claiming"], to: "abandoned", when: "the key has an entry without an outcome and without a lease" },
  take: { from: ["abandoned"], to: "reconciling", when: "it has taken the entry over" },
  yield: { from: ["abandoned"], to: "claiming", when: "another call has taken the entry over" },
  resume: { from: ["reconciling"], to: "executing", when: "it has not happened, or can be sent again" },
  record: { from: ["executing", "reconciling"], to: "completed", when: "its outcome is recorded" },
  release: { from: ["executing"], to: "released", when: "it did nothing" },
  lose: { from: ["executing", "reconciling"], to: "lost", when: "the key is another process's" },
  doubt: {
    from: ["claiming", "abandoned", "reconciling", "executing"],
    to: "unknown",
    when: "the outcome cannot be known"
  }
} as const satisfies Readonly<Record<string, KeyTransition>>

const left: ReadonlySet<KeyState> = new Set(Object.values(keyTransitions).flatMap(({ from }) => from))

/** True if a state has no outgoing transition. */
export const isEnd = (state: KeyState): boolean => !left.has(state)

/** The name of a transition. */
export type KeyEvent = keyof typeof keyTransitions
