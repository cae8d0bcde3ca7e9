/** Observer of a simulated run: records its events, executions, pauses and audit, and interrupts it or gives it up. */
import { Effect, Exit, Layer, Option } from "effect"
import { AgentEvent, Audit, RunRecord, ToolInterceptor } from "@recourse/core"
import type * as ScriptedModel from "../../ScriptedModel.ts"
import type * as Approver from "../faults/approver.ts"
import type * as VirtualTime from "../time/virtualTime.ts"
import type { Execution, Pause } from "./observation.ts"
import { CurrentWithin } from "./within.ts"

/** Limits of an observed run; `Options` of the simulation has their units and defaults. */
export interface Limits {
  readonly interruptAt?: number | undefined
  readonly interruptAtOperation?: number | undefined
  readonly mostEvents?: number | undefined
  readonly mostRequests?: number | undefined
}

/** Observes one run. */
export class RunObserver {
  private readonly behaviour: ScriptedModel.Behaviour
  private readonly limits: Limits
  private readonly events: Array<AgentEvent.AgentEvent> = []
  private readonly executions: Array<Execution> = []
  private readonly audit: Array<Audit.AuditRecord> = []
  private readonly pauses: Array<Pause> = []
  private readonly keyed = new Set<string>()
  private record: RunRecord.RunRecord | undefined
  private control: VirtualTime.Control | undefined
  private interrupted: boolean
  private waited = 0

  constructor(behaviour: ScriptedModel.Behaviour, limits: Limits) {
    this.behaviour = behaviour
    this.limits = limits
    this.interrupted = limits.interruptAtOperation !== undefined
  }

  readonly onStart = (control: VirtualTime.Control): void => {
    this.control = control
  }

  /** The scripted behaviour, up to the last accepted request. */
  readonly model: ScriptedModel.Behaviour = (request, index) => {
    if (index + 1 >= (this.limits.mostRequests ?? 100)) this.control?.giveUp()
    return this.behaviour(request, index)
  }

  /** Callbacks of the run over its pauses. */
  readonly callbacks = {
    onRecord: (record: RunRecord.RunRecord): void => {
      this.record = record
    },
    onPause: (pause: Approver.Pause): void => {
      this.pauses.push({ ...pause, after: this.events.length })
    },
    onWaited: (millis: number): void => {
      this.waited += millis
    }
  }

  /** The listener, the interceptors and the audit that observe the run. */
  get layer() {
    return Layer.mergeAll(
      AgentEvent.listen((event) => Effect.suspend(() => this.onEvent(event))),
      Layer.succeed(ToolInterceptor.ToolInterceptor, (execution, execute) => this.onExecution(execution, execute)),
      Layer.succeed(
        ToolInterceptor.CompensationInterceptor,
        ({ callId, tool }, undo) =>
          Effect.provideService(undo, CurrentWithin, { executions: [], compensates: { tool, callId } })
      ),
      Audit.layer((record) => Effect.sync(() => this.audit.push(record)))
    )
  }

  /** Everything that was observed of the run, which ended with `exit`. */
  observed(exit: Exit.Exit<unknown, unknown>) {
    const { audit, events, executions, interrupted, keyed, pauses, waited } = this
    const record = this.record ??
      (Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined)
    return { record, events, executions, pauses, keyed: [...keyed], waited, interrupted, audit }
  }

  private onEvent(event: AgentEvent.AgentEvent): Effect.Effect<void> {
    const nth = this.events.push(event)
    if (nth === (this.limits.mostEvents ?? 2000)) this.control?.giveUp()
    if (nth !== this.limits.interruptAt) return Effect.void
    this.interrupted = true
    this.control?.interrupt()
    return Effect.yieldNow
  }

  private onExecution<A, E, R>(
    { attempt, callId, params, passesKey, tool }: ToolInterceptor.Execution,
    execute: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    const execution: { -readonly [K in keyof Execution]: Execution[K] } = {
      tool,
      callId,
      attempt,
      params,
      after: this.events.length
    }
    const index = this.executions.push(execution) - 1
    if (passesKey) this.keyed.add(tool)
    const executed = Effect.updateService(execute, CurrentWithin, (around) => ({
      executions: [...around?.executions ?? [], index]
    }))
    return Effect.onExit(executed, (exit) =>
      Effect.sync(() => {
        execution.ended = Exit.isSuccess(exit) ? "success" : "failure"
      }))
  }
}
