/** Composed agents: agents made of agents, which pause if one of them waits and resume there. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { describeTools } from "../../approval/compareParts.ts"
import type { Explanation } from "../../approval/definitions.ts"
import { type ApprovalRequired, type DecisionRefused, SnapshotRefused } from "../../approval/outcome.ts"
import type { Decision } from "../../approval/decision.ts"
import type { NestedRun, Snapshot, Steps as StoredSteps } from "../../approval/snapshot.ts"
import type { SnapshotKey } from "../../approval/snapshotKey.ts"
import { presentationOf } from "../../result/delivery.ts"
import { decisionsWithin } from "../../round/resume/nestedPauses.ts"
import { isStepOf } from "../../path/path.ts"
import type { CompensableWrite } from "../../run/writes/completedWrites.ts"
import { noRunMessages } from "../../run/runEntries.ts"
import type { Run } from "../../run/run.ts"
import { type CompensatedMark, withCompensatedMarks } from "../../run/transcript.ts"
import type * as Tool from "../../tool/tool.ts"
import { type Agent, type Any, type Error, fromExecute, named, ownToolsOf, unbounded } from "../agent.ts"
import type { Limits, Mode } from "../runMode.ts"
import type { Compensates } from "../compensation/compensationOptions.ts"
import type { Forms } from "../resume/valueCodec.ts"
import { isResumable } from "../services/provideLayer.ts"
import { explainRefused } from "../resume/explainSnapshot.ts"
import { compensatesOwn } from "../resume/resumeRun.ts"
import type { Kind } from "../resume/agentKind.ts"
import { about, driven, failIfPaused, type Resumable, resumable } from "../resume/resumableRun.ts"
import { Waits } from "./stepOutcome.ts"
import { Steps } from "./steps.ts"
import { stoppedWithin } from "../resume/pausedConversation.ts"

/**
 * Error of `start` of an agent that can wait: its answer may be that it waits.
 *
 * @category utility types
 * @since 0.2.0
 */
export type StartError<A> = A extends Record<"start", infer Start> ? StartErrorOf<Error<A>, Start> : Error<A>

/**
 * Error of an agent with these errors at its start, by its `start`, if it has one.
 *
 * @category utility types
 * @since 0.2.0
 */
export type StartErrorOf<E, Start> = Start extends (...args: never) => Effect.Effect<unknown, infer SE, unknown> ? SE
  : E

/**
 * An agent made of agents. If one of them waits for an approval, the whole waits: `start` answers `Paused`, and
 * `resume` continues there. `SE` is the error type of its agents without waits.
 *
 * @category models
 * @since 0.2.0
 */
export interface Composed<in In, out Out, out E, out R, out SE = Exclude<E, ApprovalRequired>>
  extends Agent<In, Out, E, R>, Resumable<In, Out, SE, R, R | SnapshotKey>
{}

type Checked = Effect.Effect<unknown, SnapshotRefused | DecisionRefused, unknown>

type Body = (steps: Steps, input: never) => Effect.Effect<unknown, unknown, unknown>

/** Passes the answer of the whole to the steps. */
const passAnswer = (steps: Steps, answering: Effect.Effect<unknown, unknown, unknown>) =>
  Effect.tap(answering, (answer) => Effect.sync(() => steps.answered(answer)))

/** End of a body: it waits if a step does. If it fails, it compensates abandoned steps of earlier executions. */
const ended = (
  freshSteps: Effect.Effect<unknown, unknown, unknown>,
  steps: () => Steps | undefined,
  agents: ReadonlyArray<string>
) =>
  Effect.tapCause(
    Effect.catchIf(freshSteps, (error) => error instanceof Waits, () => steps()!.pause(agents)),
    () => steps()?.unmet ?? Effect.void
  )

/** The tools of all agents, as far as they are known. */
const toolsOf = (parts: ReadonlyArray<Any>): ReadonlyArray<Tool.Any> => [
  ...new Set(parts.flatMap(ownToolsOf).map(({ tool }) => tool))
]

/** The tools of all agents, if all are known: the tools of a function are not. */
const declaredTools = (parts: ReadonlyArray<Any>): ReadonlyArray<Tool.Any> | undefined =>
  parts.every(({ declared }) => declared?.tools !== undefined) ? toolsOf(parts) : undefined

/** The agents that a step with this id may have run: names may make the same id. */
const agentsOf = (
  step: string,
  parts: ReadonlyArray<Any>
): ReadonlyArray<Resumable<unknown, unknown, unknown, unknown>> =>
  parts.flatMap((agent) => isResumable(agent) && isStepOf(step, agent.name) ? [agent] : [])

/** The refusal of a step that no agent can have run. */
const noAgent = (name: string, step: string) =>
  new SnapshotRefused({
    agent: name,
    reason: "tools_changed",
    differences: [{ agent: name, part: "agent", name: step, role: "nested", state: "missing", differs: [] }]
  })

/** Checks that the agent of a step can resume as was decided: one of those that may have run it. */
const checkedBy = (
  name: string,
  parts: ReadonlyArray<Any>,
  step: string,
  snapshot: unknown,
  decisions: ReadonlyArray<Decision>
): Checked => {
  const agents = agentsOf(step, parts)
  if (agents.length === 0) return Effect.fail(noAgent(name, step))
  return agents.map((agent): Checked => agent.check(snapshot, decisions)).reduceRight((others, first) =>
    Effect.catchTag(
      first,
      "SnapshotRefused",
      (refused) => refused.reason === "tools_changed" || refused.reason === "agent" ? others : Effect.fail(refused)
    )
  )
}

/** Checks the agents of all steps that something is decided about. */
const fits = (
  name: string,
  parts: ReadonlyArray<Any>,
  { round }: Snapshot,
  decisions: ReadonlyArray<Decision>
): Checked =>
  Effect.forEach(round!.nested!, ({ callId, snapshot }) => {
    const within = decisionsWithin(callId, decisions)
    return within.length === 0 ? Effect.void : about(callId, checkedBy(name, parts, callId, snapshot, within))
  }, { discard: true })

/** Explains the snapshot of a step by the agent that can resume it, or by the last one that may have run it. */
const explainedBy = Effect.fnUntraced(function*(
  name: string,
  parts: ReadonlyArray<Any>,
  { callId, snapshot }: NestedRun
): Effect.fn.Return<Explanation, never, unknown> {
  let explained: Explanation = { ...explainRefused(noAgent(name, callId)), parts: [] }
  for (const agent of agentsOf(callId, parts)) {
    explained = yield* agent.explain(snapshot)
    if (explained.canResume) break
  }
  return explained
})

/** Puts an agent together of agents, and of a body that runs them as steps. */
export const compose = (
  name: string,
  parts: ReadonlyArray<Any>,
  forms: Forms,
  body: Body,
  compensates?: Compensates
): Composed<never, unknown, unknown, unknown> => {
  named(name)
  const agents = parts.map(({ name }) => name)
  const fingerprint = () => ({ agents, tools: describeTools(toolsOf(parts)) })
  const mayAsk = parts.some((part) => isResumable(part) && part.mayAsk)
  const limits: Limits<unknown> = { ...unbounded(name), hasSteps: true, compensates }
  const drive: Kind["drive"] = (from, mode: Mode, given) =>
    Effect.contextWith((context: Context.Context<SnapshotKey>) => {
      let steps: Steps | undefined
      const compensated: Array<CompensableWrite & { readonly mark: CompensatedMark }> = []
      const begin = (run: Run, services: Context.Context<never>): Effect.Effect<unknown, unknown, unknown> => {
        if ("input" in from) {
          const freshSteps = steps = new Steps(run, { input: from.input, form: forms.input })
          return passAnswer(freshSteps, body(freshSteps, from.input as never))
        }
        const { checkpoint, decisions } = from
        return Effect.flatMap(forms.input.read((checkpoint.steps as StoredSteps).input), (input) => {
          const resumed = { checkpoint, decisions: [...decisions.values()], shown: presentationOf(services) }
          const freshSteps = steps = new Steps(run, { input, form: forms.input }, resumed)
          return passAnswer(freshSteps, body(freshSteps, input as never))
        })
      }
      return driven(
        context,
        {
          kind,
          withdraw: () => steps?.withdraw ?? Effect.void,
          body: {
            run: (run, services) => ended(begin(run, services), () => steps, agents),
            said: (run, ambient) => {
              const said = steps !== undefined
                ? steps.said()
                : "checkpoint" in from
                ? stoppedWithin(from.checkpoint, run, presentationOf(ambient))
                : noRunMessages
              return { ...said, transcript: withCompensatedMarks(said.transcript, compensated) }
            },
            onCompensated: (write, mark) => void compensated.push({ ...write, mark })
          }
        },
        limits,
        mode,
        given
      )
    })
  const kind: Kind = {
    name,
    mayAsk,
    fingerprint,
    parts: () => Effect.succeed({ tools: [], agents }),
    explainWithin: (_snapshot, nested) => explainedBy(name, parts, nested),
    // An agent made of agents waits for those within it alone.
    fits: (snapshot, _byCall, decisions) => fits(name, parts, snapshot, decisions),
    // Only the inner agent knows if an approved inner call has run.
    isRepeatable: (_snapshot, byCall) =>
      [...byCall.values()].every(({ _tag }) => _tag !== "Approve" && _tag !== "Edit"),
    shouldCompensate: (snapshot, isLeft) =>
      compensatesOwn(compensates, snapshot, isLeft) ||
      snapshot.round!.nested!.some(({ callId, snapshot }) =>
        agentsOf(callId, parts).some((part) => part.shouldCompensate(snapshot as never, isLeft))
      ),
    drive
  }
  return Object.assign(
    fromExecute(
      name,
      (input: unknown, mode) => Effect.flatMap(drive({ input }, mode, input), failIfPaused(name)),
      { tools: declaredTools(parts), ownTools: () => parts.flatMap(ownToolsOf), budget: {}, forms }
    ),
    resumable(kind)
  ) as never
}
