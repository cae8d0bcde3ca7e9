/** `Agent.provide`: agents that bring their services along. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { Decision } from "../approval/decision.ts"
import type { Over } from "../run/run.ts"
import type { EndMode, Mode } from "./mode.ts"
import { type Agent, fromExecute, type RunOptions } from "./agent.ts"
import type { StreamOptions } from "./eventStream.ts"
import { type DescriptionOf, descriptionOf, type ModelAgent } from "./modelAgent.ts"
import type { From, Resumable } from "./resumable.ts"

/**
 * Gives an agent what it needs: a model of its own, for example.
 *
 * **Example** (A fixer with a model of its own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const poet = Agent.make("poet", { instructions: "Answer in verse." }).pipe(
 *   Agent.provide(ScriptedModel.layer([ScriptedModel.text("Roses are red")]))
 * )
 *
 * await Effect.runPromise(poet.run("Hi")) // => "Roses are red"
 * ```
 */
export const provide =
  <ROut, E2, RIn>(layer: Layer.Layer<ROut, E2, RIn>) =>
  <In, Out, E, R, Self extends Agent<In, Out, E, R>>(
    self: Self & Agent<In, Out, E, R>
  ): Provided<Self, In, Out, E, R, E2, RIn, ROut> => {
    /** What is done behind the end of a run, which has closed the layer, needs it again. */
    const within = (mode: Mode): Mode => ({
      ...mode,
      provided: (effect) => {
        const provided = Effect.provide(effect, layer as Layer.Layer<ROut>).pipe(
          Effect.catchCause((cause) => Effect.logError(`What agent "${self.name}" needs is not there`, cause))
        )
        return mode.provided?.(provided) ?? provided
      }
    })
    const provided = fromExecute(
      self.name,
      (input: In, mode) => Effect.provide(self.runIn(input, within(mode)), layer),
      self.declared
    )
    Object.assign(provided, descriptionOf(self))
    if (!isResumable(self)) return provided as never
    const { check, end, explain, mayAsk, proceed, resume, resumeStream, start, undoes } = self
    return Object.assign(provided, {
      mayAsk,
      undoes,
      end: (snapshot: unknown, over: Over, mode?: EndMode) => Effect.provide(end(snapshot, over, mode), layer),
      explain: (snapshot: unknown) => Effect.provide(explain(snapshot), layer),
      check: (snapshot: unknown, decisions: ReadonlyArray<Decision>) =>
        Effect.provide(check(snapshot, decisions), layer),
      proceed: (from: From<In>, mode: Mode) => Effect.provide(proceed(from, within(mode)), layer),
      start: (input: In, options?: RunOptions) => Effect.provide(start(input, options), layer),
      resume: (snapshot: unknown, decisions: ReadonlyArray<Decision>, options?: Pick<RunOptions, "streaming">) =>
        Effect.provide(resume(snapshot, decisions, options), layer),
      resumeStream: (snapshot: unknown, decisions: ReadonlyArray<Decision>, options?: StreamOptions) =>
        Stream.provide(resumeStream(snapshot, decisions, options), layer)
    }) as never
  }

/** Whether an agent can wait for approvals, and be resumed. */
export const isResumable = <In>(u: object): u is Resumable<In, unknown, unknown, unknown> => "resume" in u

/** An agent that is given what it needs: what could be resumed still can. */
export type Provided<Self, In, Out, E, R, E2, RIn, ROut> = Self extends
  ModelAgent<infer Input, infer Output, infer ME, infer MR, infer Pause, infer Key>
  ? ModelAgent<Input, Output, ME | E2, RIn | Exclude<MR, ROut>, Pause, Exclude<Key, ROut>>
  :
    & Agent<In, Out, E | E2, RIn | Exclude<R, ROut>>
    & (Self extends Resumable<infer In2, infer Out2, infer RE, infer RR, infer Resume>
      ? Resumable<In2, Out2, RE | E2, RIn | Exclude<RR, ROut>, RIn | Exclude<Resume, ROut>>
      : unknown)
    & DescriptionOf<Self>
