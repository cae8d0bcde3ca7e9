/**
 * Approver: the person who decides about waiting calls, played by a plan of faults. Carries runs over their pauses to
 * their end.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Agent, Approval, type RunRecord } from "@recourse/core"
import * as FaultPlan from "../../FaultPlan.ts"
import { type Injector, make as makeInjector } from "./injector.ts"

/**
 * Decides about the calls of a pause; takes as long as the person does.
 *
 * @category models
 * @since 0.2.0
 */
export type Decide = (
  pending: ReadonlyArray<Approval.PendingCall>
) => Effect.Effect<ReadonlyArray<Approval.Decision>>

/**
 * The person who decides.
 *
 * @category services
 * @since 0.2.0
 */
export class Approver extends Context.Service<Approver, { readonly decide: Decide }>()("@recourse/testing/Approver") {}

/** @internal Approves whatever has no fault. */
export const decideBy = (injector: Injector): Decide => (pending) =>
  Effect.gen(function*() {
    const decisions: Array<Approval.Decision> = []
    let late = 0
    for (const call of pending) {
      const { callId, expiresAt, tool } = call
      const found = injector.next(
        `approval ${tool}`,
        (injection) => FaultPlan.isOfApproval(injection) && injection.tool === tool
      )
      if (found !== undefined) yield* injector.log(found, { tool, callId })
      const fault = found?.fault as FaultPlan.ApprovalFault | undefined
      switch (fault?.type) {
        case "approval_rejected":
          decisions.push(Approval.reject(call, fault.reason ?? "Not now"))
          break
        case "approval_edited":
          decisions.push(Approval.edit(call, fault.arguments))
          break
        case "approval_responded":
          decisions.push(Approval.respond(call, fault.result))
          break
        case "approval_missing":
          break
        default:
          if (fault?.type === "approval_late") late = Math.max(late, expiresAt + 1)
          decisions.push(Approval.approve(call))
      }
    }
    const now = yield* Clock.currentTimeMillis
    if (late > now) yield* Effect.sleep(late - now)
    return decisions
  })

/**
 * A layer of a person who answers as a plan says, and approves otherwise. `Faults.layer` has one too.
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (plan: FaultPlan.FaultPlan): Layer.Layer<Approver> =>
  Layer.sync(Approver, () => ({ decide: decideBy(makeInjector(plan)) }))

/**
 * A paused run, and its decisions.
 *
 * @category models
 * @since 0.2.0
 */
export interface Pause {
  readonly snapshot: Approval.Snapshot
  readonly pending: ReadonlyArray<Approval.PendingCall>
  readonly decisions: ReadonlyArray<Approval.Decision>
  /** Milliseconds that the decisions took. */
  readonly waited: number
  /** When they were there, in milliseconds since the epoch. */
  readonly decidedAt: number
}

/**
 * Options of a run over its pauses.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** True if model calls are streamed. Default: false. */
  readonly streaming?: boolean | undefined
  /** Is given the record of each part of the run: the last is that of the whole. */
  readonly onRecord?: ((record: RunRecord.RunRecord) => void) | undefined
  /** Receives each pause once there are decisions. */
  readonly onPause?: ((pause: Pause) => void) | undefined
  /**
   * @internal Receives the milliseconds that a run has waited, also if it is interrupted before it receives the pause.
   */
  readonly onWaited?: ((waited: number) => void) | undefined
  /** @internal A pause to resume, instead of a start. */
  readonly from?: Pick<Pause, "snapshot" | "decisions"> | undefined
  /** @internal Hears the events, besides the listeners of the context. */
  readonly sink?: Parameters<Agent.Any["runIn"]>[1]["sink"]
}

/** Number of requests to a person who never decides. */
const patience = 100

/**
 * Runs an agent to its end, over all pauses: each snapshot is stored as JSON, and resumed with the decisions of the
 * `Approver`. An agent that cannot pause is just run. One that waits for a person who never decides fails with
 * `ApprovalRequired`, like `agent.run`.
 *
 * **Example** (A person who says no, and then yes)
 *
 * ```ts
 * import { Effect, Layer, Redacted, Schema } from "effect"
 * import { Agent, Approval, Recovery, Tool } from "@recourse/core"
 * import { Approver, FaultPlan, ScriptedModel } from "@recourse/testing"
 *
 * const paid: Array<number> = []
 * const Pay = Tool.make("pay", {
 *   parameters: Schema.Struct({ amount: Schema.Int }),
 *   effects: "write",
 *   needsApproval: true,
 *   execute: ({ amount }) => Effect.sync(() => void paid.push(amount))
 * })
 * const agent = Agent.make("clerk", { tools: [Pay], defaults: { onError: Recovery.standard } })
 * const plan = FaultPlan.make([FaultPlan.onApproval("pay", { type: "approval_rejected", reason: "Too much" })])
 *
 * await Effect.runPromise(
 *   Approver.run(agent, "Pay").pipe(Effect.provide(Layer.mergeAll(
 *     Approver.layer(plan),
 *     Approval.layerKey(Redacted.make("a key of at least thirty-two bytes")),
 *     ScriptedModel.layer([
 *       ScriptedModel.call("pay", { amount: 500 }),
 *       ScriptedModel.call("pay", { amount: 50 }),
 *       ScriptedModel.text("Paid 50.")
 *     ])
 *   )))
 * ) // => "Paid 50."
 * paid // => [50]
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const run = <In, Out, E, R>(
  agent: Agent.Agent<In, Out, E, R>,
  input: In,
  options?: Options
): Effect.Effect<Out, E | Approval.SnapshotRefused | Approval.DecisionRefused, R | Approver> =>
  Effect.gen(function*() {
    const mode = {
      streaming: options?.streaming ?? false,
      ...(options?.sink === undefined ? undefined : { sink: options.sink }),
      onRecord: (ended: () => RunRecord.RunRecord) => options?.onRecord?.(ended())
    }
    if (!Agent.isResumable<In>(agent)) return yield* agent.runIn(input, mode)
    // That an agent can be resumed does not show in the type of `Agent`; its output, errors and services are the same.
    const { proceed } = agent as unknown as Agent.Resumable<In, Out, E, R, R>
    const { decide } = yield* Approver
    const resume = ({ decisions, snapshot }: Pick<Pause, "snapshot" | "decisions">) =>
      proceed({ snapshot: JSON.parse(JSON.stringify(snapshot)) as unknown, decisions }, mode)
    let outcome = yield* options?.from === undefined ? proceed({ input }, mode) : resume(options.from)
    let undecided = 0
    while (outcome._tag === "Paused") {
      const { pending, snapshot } = outcome
      const start = yield* Clock.currentTimeMillis
      const decisions = yield* Effect.onExit(decide(pending), () =>
        Effect.map(Clock.currentTimeMillis, (now) => options?.onWaited?.(now - start)))
      const decidedAt = yield* Clock.currentTimeMillis
      options?.onPause?.({ snapshot, pending, decisions, waited: decidedAt - start, decidedAt })
      undecided = decisions.length === 0 ? undecided + 1 : 0
      if (undecided === patience) {
        return yield* Effect.fail(new Approval.ApprovalRequired({ agent: agent.name, snapshot }) as E)
      }
      outcome = yield* resume({ snapshot, decisions })
    }
    return outcome.output
  })
