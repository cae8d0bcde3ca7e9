/** `Approval.interactive`: agents that ask a person about a waiting call while they run. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Decision } from "../../approval/decision.ts"
import { type ApprovalRequired, type DecisionRefused, type Paused, SnapshotRefused } from "../../approval/outcome.ts"
import { isRefusalOf } from "../../approval/refusals.ts"
import type { PendingCall, Snapshot } from "../../approval/snapshot.ts"
import { SnapshotKey } from "../../approval/snapshotKey.ts"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { CurrentJournal } from "../../../Journal.ts"
import { withDefects } from "../../foundation/failureWithDefect.ts"
import * as WebCrypto from "effect/crypto/WebCrypto"
import { aFunction, checkArgument } from "../../foundation/options/optionCheck.ts"
import { type Agent, anAgent, fromExecute } from "../agent.ts"
import type { Mode } from "../runMode.ts"
import type { StartError } from "../compose/composedAgent.ts"
import { type DescriptionOf, descriptionOf } from "../modelAgent.ts"
import { isResumable } from "../services/provideLayer.ts"
import type { From, Resumable } from "./resumableRun.ts"
import { runCleanups } from "../../run/writes/cleanups.ts"
import { CurrentRun, type Run } from "../../run/run.ts"

/** A key for snapshots that stay in the process: two random ids, for 32 bytes and more. */
const ownKey = Effect.map(
  WebCrypto.WebCrypto,
  (crypto) => Redacted.make(`${crypto.randomUUID()}${crypto.randomUUID()}`)
)

/** A run within another one, with an unanswered question: its cleanup has run. */
const left = (withdraw: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const around = Context.get(context, CurrentRun)
    return around === undefined
      ? Effect.void
      : Effect.andThen(withdraw, Effect.suspend(() => runCleanups(around)))
  })

/** Ends an outermost run that waits and is abandoned. If one with a journal is interrupted, its engine ends it. */
const ended = (
  { end }: Resumable<never, unknown, unknown, unknown>,
  sealed: Effect.Effect<Snapshot, never, SnapshotKey>,
  { sink, onRecord, runId, streaming }: Mode,
  cause: Cause.Cause<unknown>
): Effect.Effect<void, never, unknown> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const hasEngine = runId !== undefined && Context.get(context, CurrentJournal)?.runId === runId
    return Context.get(context, CurrentRun) !== undefined || (hasEngine && Cause.hasInterruptsOnly(cause))
      ? Effect.void
      : Effect.flatMap(sealed, (snapshot) => end(snapshot, {}, { sink, onRecord, streaming }))
  })

/**
 * Starts or resumes an agent. Snapshots of its own leave the function as they came: a refused one is a defect. An inner agent may have
 * errors of its own about snapshots.
 */
const proceedOwn = <In>(agent: Resumable<In, unknown, unknown, unknown>, from: From<In>, mode: Mode) => {
  const outcome = agent.proceed(from, mode)
  if ("input" in from) return outcome
  const { snapshot } = from
  const isOwn = (error: unknown) => error instanceof SnapshotRefused && isRefusalOf(error, snapshot as Snapshot)
  return Effect.catchCause(outcome, (cause) => Effect.failCause(withDefects(cause, isOwn)))
}

const checkInteractive = (ask: unknown, agent: unknown): void => {
  checkArgument("Approval.interactive", "its function that asks", ask, aFunction)
  checkArgument("Approval.interactive", "its agent", agent, anAgent)
}

/**
 * Asks about each pending call while the agent runs, and resumes with the decision. `run`, `stream` and `report` of the
 * agent do not fail with `ApprovalRequired`, and need no `SnapshotKey`: the run stays in this process. To wait for
 * longer, or in another process, use `agent.start` and `agent.resume`.
 *
 * `ask` receives one call after the other. Its failure ends the run. A decision that does not fit (made for other
 * arguments, a result that the tool cannot have) ends the run with `DecisionRefused`. A stream has the events of the
 * whole run: a `RunFinished` with the outcome `"paused"` before each question, and a `RunStarted` with `resumed` behind
 * it.
 *
 * **Example** (A person who approves small refunds)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Approval, Recovery, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Refund = Tool.make("refund", {
 *   parameters: Schema.Struct({ euros: Schema.Number }),
 *   success: Schema.String,
 *   effects: "write",
 *   needsApproval: true,
 *   execute: ({ euros }) => Effect.succeed(`${euros} euros are on their way`)
 * })
 *
 * const clerk = Agent.make("clerk", { tools: [Refund], defaults: { onError: Recovery.standard } }).pipe(
 *   Approval.interactive((call) =>
 *     Effect.succeed(Number(call.arguments["euros"]) < 100 ? Approval.approve(call) : Approval.reject(call, "Too much."))
 *   )
 * )
 *
 * await Effect.runPromise(
 *   clerk.run("The cup is broken").pipe(
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.call("refund", { euros: 20 }), ScriptedModel.text("Done.")]))
 *   )
 * ) // => "Done."
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const interactive =
  <E2 = never, R2 = never>(ask: (call: PendingCall) => Effect.Effect<Decision, E2, R2>) =>
  <In, Out, E, R, Self>(
    self:
      & Self
      & Agent<In, Out, E, R>
      & (Self extends Record<"resume", unknown> ? unknown
        : "This agent cannot wait: give Approval.interactive to those that its function runs.")
  ):
    & Agent<
      In,
      Out,
      | Exclude<E, ApprovalRequired>
      | (Self extends Record<"start", unknown> ? Extract<StartError<Self>, ApprovalRequired> : never)
      | DecisionRefused
      | E2,
      Exclude<R, SnapshotKey> | R2
    >
    & DescriptionOf<Self> =>
  {
    checkInteractive(ask, self)
    const { declared, name }: Agent<In, Out, E, R> = self
    if (!isResumable<In>(self)) {
      const problem = "it cannot wait: make the agents within it interactive"
      throw new ConfigurationError({ subject: `Agent "${name}"`, problem })
    }
    const waitable: Resumable<In, unknown, unknown, unknown> = self
    const proceed = (from: From<In>, mode: Mode): Effect.Effect<unknown, unknown, unknown> => {
      let withdraw: Effect.Effect<void> = Effect.void
      const waiting: Mode = {
        ...mode,
        mayPause: true,
        // The person answers here: no other listener has to hear that the question is over.
        onQuestions: (effect) => withdraw = effect
      }
      let isHeard = false
      const outcome = Effect.flatMap(proceedOwn(waitable, from, waiting), (outcome) => {
        if (outcome._tag === "Completed") return Effect.succeed(outcome.output)
        return goesOn(outcome, withdraw, mode, () => isHeard = true)
      })
      // Interrupted before it asks.
      return Effect.onError(outcome, () => isHeard ? Effect.void : withdraw)
    }
    const goesOn = (
      waits: Paused,
      withdraw: Effect.Effect<void>,
      mode: Mode,
      onHeard: () => void
    ): Effect.Effect<unknown, unknown, unknown> => {
      const { pending, snapshot } = waits
      let goesOn = false
      const onStarted = (run: Run) => {
        goesOn = true
        mode.onStarted?.(run)
      }
      return Effect.onError(
        Effect.suspend(() => {
          // From here on this calls the questions off.
          onHeard()
          return Effect.flatMap(
            Effect.forEach(pending, ask),
            (decisions) => proceed({ snapshot, decisions }, { ...mode, onStarted })
          )
        }),
        () => goesOn ? Effect.void : left(withdraw)
      )
    }
    const asking = fromExecute<In, unknown, unknown, unknown>(
      name,
      (input, mode) =>
        Effect.flatMap(ownKey, (current) => {
          // The last reported state of the run, regardless of later interruptions.
          let sealed: Effect.Effect<Snapshot, never, SnapshotKey> | undefined
          const onStands: Mode["onStands"] = (stands) => void (sealed = stands)
          return Effect.onError(
            proceed({ input }, { ...mode, onStands }),
            (cause) => sealed === undefined ? Effect.void : ended(waitable, sealed, mode, cause)
          ).pipe(
            Effect.provideService(SnapshotKey, { current, earlier: [] })
          )
        }),
      declared
    )
    return Object.assign(asking, descriptionOf(self)) as never
  }
