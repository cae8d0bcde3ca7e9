/**
 * States of a hosted run and of its executions, and the transitions between them, as data. Hosts read their conditions
 * from this table, the law suite compares a host's behaviour with it, and the picture in the guide is drawn from it.
 */

/**
 * The states of a run in a host.
 *
 * @category constants
 * @since 0.2.0
 */
export const states = {
  queued: "No process owns it. The next process that has its agent takes it.",
  running: "A process owns it by a lease, and executes it.",
  lent: "Its owner waits for another run or a signal. Its place in the queue of its agent is free for others.",
  returning: "Its wait has ended, and it continues when a slot is free.",
  waiting: "It waits for decisions of people. No process owns it.",
  completed: "It has ended with an output.",
  failed: "It has ended with a failure.",
  cancelled: "It has ended on request."
} as const

/**
 * A state of a run in a host.
 *
 * @category models
 * @since 0.2.0
 */
export type State = keyof typeof states

/**
 * Protection of a transition from a process that does not own the run.
 *
 * @category models
 * @since 0.2.0
 */
export type Fence =
  /** The number of the owner: it is the one that took the run last. */
  | "epoch"
  /** The lease of the owner is over, or there is no owner. */
  | "lease"
  /** Only the state. */
  | "state"

/**
 * A transition of a run.
 *
 * @category models
 * @since 0.2.0
 */
export interface Transition {
  /** The operation of the host that makes it. */
  readonly by: "insert" | "take" | "settle" | "decide" | "cancel"
  /** Empty for a missing run. */
  readonly from: ReadonlyArray<State>
  readonly to: State
  readonly fence: Fence
  readonly when: string
}

const owned = ["running", "lent", "returning"] as const

/**
 * All transitions between states. A cancellation of an owned run changes no state: its owner is notified.
 *
 * @category constants
 * @since 0.2.0
 */
export const transitions = {
  add: { by: "insert", from: [], to: "queued", fence: "state", when: "it is started" },
  begin: { by: "insert", from: [], to: "running", fence: "state", when: "it is started by a process with room for it" },
  claim: { by: "take", from: ["queued", ...owned], to: "running", fence: "lease", when: "a process has room for it" },
  request: { by: "take", from: ["lent", "returning"], to: "returning", fence: "epoch", when: "its wait is over" },
  regain: { by: "take", from: ["returning"], to: "running", fence: "epoch", when: "a place is free" },
  lend: { by: "settle", from: owned, to: "lent", fence: "epoch", when: "it waits for a run or a signal" },
  release: { by: "settle", from: owned, to: "queued", fence: "epoch", when: "its process stops" },
  pause: { by: "settle", from: owned, to: "waiting", fence: "epoch", when: "it asks people" },
  complete: { by: "settle", from: owned, to: "completed", fence: "epoch", when: "its agent answers" },
  fail: { by: "settle", from: owned, to: "failed", fence: "epoch", when: "its agent fails" },
  stop: {
    by: "settle",
    from: owned,
    to: "cancelled",
    fence: "epoch",
    when: "its owner was notified of the cancellation"
  },
  ask: { by: "settle", from: ["waiting"], to: "waiting", fence: "epoch", when: "the next person is asked" },
  decide: { by: "decide", from: ["waiting"], to: "queued", fence: "state", when: "people decide" },
  cancel: { by: "cancel", from: ["queued", "waiting"], to: "cancelled", fence: "state", when: "it has no effect yet" },
  compensate: { by: "cancel", from: ["queued", "waiting"], to: "queued", fence: "state", when: "it has writes to undo" }
} as const satisfies Readonly<Record<string, Transition>>

/**
 * The name of a transition.
 *
 * @category models
 * @since 0.2.0
 */
export type TransitionName = keyof typeof transitions

/**
 * The states of an execution: one process's work on a run that it owns.
 *
 * @category constants
 * @since 0.2.0
 */
export const executionStates = {
  loading: "Its process reads the run and its log.",
  replaying: "Its agent runs, and is answered from the log.",
  live: "Its agent runs, and its steps are recorded.",
  draining: "It was cancelled, and replays its entries, so that its writes can be compensated.",
  interrupted: "Its agent was asked to stop, and compensates if the run was cancelled.",
  settling: "Its agent has stopped, and the end of the run or its pause is recorded.",
  ended: "Its process has left the run."
} as const

/**
 * A state of an execution.
 *
 * @category models
 * @since 0.2.0
 */
export type ExecutionState = keyof typeof executionStates

/**
 * A transition of an execution.
 *
 * @category models
 * @since 0.2.0
 */
export interface ExecutionTransition {
  readonly from: ReadonlyArray<ExecutionState>
  readonly to: ExecutionState
  readonly when: string
}

const atWork = ["replaying", "live", "draining"] as const

/**
 * All transitions between states of an execution.
 *
 * @category constants
 * @since 0.2.0
 */
export const executionTransitions = {
  begin: { from: ["loading"], to: "live", when: "the log is empty" },
  replay: { from: ["loading"], to: "replaying", when: "the log has steps, or the run was cancelled" },
  meet: { from: ["replaying"], to: "live", when: "each recorded answer and outcome was replayed" },
  drain: { from: ["replaying", "live"], to: "draining", when: "it is cancelled, and had a log" },
  interrupt: { from: atWork, to: "interrupted", when: "it is drained, cancelled, lost or stopped" },
  stop: { from: [...atWork, "interrupted"], to: "settling", when: "its agent has stopped" },
  leave: { from: ["loading", "settling"], to: "ended", when: "it is settled, given back or lost" }
} as const satisfies Readonly<Record<string, ExecutionTransition>>

/**
 * The name of a transition of an execution.
 *
 * @category models
 * @since 0.2.0
 */
export type ExecutionEvent = keyof typeof executionTransitions
