/** States of hosted runs in rows. */
import { type State, type TransitionName, transitions } from "../../HostStates.ts"

/** True if a run may make a transition from a state. */
export const isAllowed = (name: TransitionName, from: State): boolean =>
  (transitions[name].from as ReadonlyArray<State>).includes(from)

/** A state in a row: `lent` applies while it runs. */
export interface StateColumns {
  readonly status: Exclude<State, "lent" | "returning">
  readonly lent: 0 | 1 | 2
}

/** The columns of a state. */
export const columnsOf = (state: State): StateColumns =>
  state === "lent"
    ? { status: "running", lent: 1 }
    : state === "returning"
    ? { status: "running", lent: 2 }
    : { status: state, lent: 0 }

/** The state of a row. */
export const stateOf = ({ lent, status }: { readonly status: string; readonly lent: number }): State =>
  status === "running" && lent > 0 ? lent === 1 ? "lent" : "returning" : status as State
