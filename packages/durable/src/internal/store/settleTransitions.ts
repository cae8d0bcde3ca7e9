/** The transitions of the operation `settle`, by how an owner leaves its run. */
import type { Leaving } from "./host.ts"
import type { TransitionName } from "../../HostStates.ts"

const names = {
  queued: "release",
  lent: "lend",
  asked: "ask",
  waiting: "pause",
  completed: "complete",
  failed: "fail",
  cancelled: "stop"
} as const satisfies Readonly<Record<Leaving["status"], TransitionName>>

/** The transition by which an owner leaves its run. */
export const settlingOf = <S extends Leaving["status"]>({ status }: { readonly status: S }): (typeof names)[S] =>
  names[status]
