/** Execution of a run: the state in which its process has it. States and transitions are those of `HostStates`. */
import type { Failure } from "@recourse/core/Runs"
import {
  type ExecutionEvent,
  type ExecutionState,
  type ExecutionTransition,
  executionTransitions
} from "../../HostStates.ts"
import type { StoredRun } from "../store/store.ts"

/** Why a process leaves a run that has not ended. */
export type Leave = "lost" | "stopping" | "cancelled"

const table: Readonly<Record<ExecutionEvent, ExecutionTransition>> = executionTransitions

/** An execution of a run. */
export class Execution {
  private readonly wasCancelled: boolean
  private current: ExecutionState = "loading"
  /** Why the process leaves the run, if it does. */
  why: Leave | undefined
  /** The failure of the run, if its agent does not end it. */
  over: Failure | undefined
  private hasLog = false
  private onDrain: () => void = () => undefined
  private onInterrupt: () => void = () => undefined

  constructor({ isCancelled }: Pick<StoredRun, "isCancelled">) {
    this.wasCancelled = isCancelled
  }

  get state(): ExecutionState {
    return this.current
  }

  /** True if the run's writes are to be compensated. */
  get isCancelled(): boolean {
    return this.over !== undefined || (this.why ?? (this.wasCancelled ? "cancelled" : undefined)) === "cancelled"
  }

  /** Makes a transition; `false` if the state has none of this name. */
  on(event: ExecutionEvent): boolean {
    const { from, to } = table[event]
    if (!from.includes(this.current)) return false
    this.current = to
    return true
  }

  /** The agent runs from now on: `drain` asks a replay to end, and `interrupt` stops the agent. */
  begin(hasLog: boolean, drain: () => void, interrupt: () => void): void {
    this.hasLog = hasLog
    this.onDrain = drain
    this.onInterrupt = interrupt
    this.on(hasLog ? "replay" : "begin")
    if (this.why !== undefined) this.leave(this.why)
    else if (this.isCancelled && this.on("drain")) drain()
  }

  /** The process is to leave the run. One that has lost it does not end it, also if the run was cancelled before. */
  leave(why: Leave): void {
    this.why = why === "lost" ? why : this.why ?? why
    if (why === "cancelled" && this.hasLog) {
      if (this.on("drain")) this.onDrain()
    } else this.interrupt()
  }

  /** The agent has found its run cancelled; `false` if it was asked to stop before. */
  foundCancelled(): boolean {
    if (this.current === "interrupted") return false
    this.leave("cancelled")
    return true
  }

  /** Stops the agent. */
  interrupt(): void {
    if (this.on("interrupt")) this.onInterrupt()
  }

  /** A replay that was to end has replayed its entries. */
  drained(): void {
    this.why ??= "cancelled"
    this.interrupt()
  }
}
