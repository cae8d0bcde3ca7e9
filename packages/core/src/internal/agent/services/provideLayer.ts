/** `Agent.provide`: agents that bring their services along. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { Decision } from "../../approval/decision.ts"
import type { Over } from "../../run/run.ts"
import type { EndMode, Mode } from "../runMode.ts"
import { type Agent, fromExecute, type RunOptions } from "../agent.ts"
import type { StreamOptions } from "../eventStream.ts"
import { type DescriptionOf, descriptionOf, type ModelAgent } from "../modelAgent.ts"
import type { From, Resumable } from "../resume/resumableRun.ts"
import { sharedServices } from "./sharedServices.ts"

/**
 * Provides an agent's services: a model of its own, for example.
 *
 * A layer without finalizer has only state (a ledger in memory, a circuit breaker). The first run builds it, and it
 * serves all runs of this agent with the same outer services, as long as the agent is in memory. A layer with a
 * finalizer has a resource (a connection, a process). Overlapping runs share it. The last of them releases it, and the
 * next run builds it again. Merged or composed layers are treated one by one. To keep a resource for longer, build it
 * in your program and provide its services.
 *
 * The layer is built without the services of the run: its span, its scope, the request of a handler, the owner. A build that fails, or
 * whose run is interrupted, is repeated by the next run.
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
 *
 * @category combinators
 * @since 0.2.0
 */
export const provide =
  <ROut, E2, RIn>(layer: Layer.Layer<ROut, E2, RIn>) =>
  <In, Out, E, R, Self extends Agent<In, Out, E, R>>(
    self: Self & Agent<In, Out, E, R>
  ): Provided<Self, In, Out, E, R, E2, RIn, ROut> => {
    const build = sharedServices(layer)
    const withServices = <A, E3, R3>(
      effect: Effect.Effect<A, E3, R3>
    ): Effect.Effect<A, E2 | E3, RIn | Exclude<R3, ROut>> =>
      Effect.scopedWith((scope) => Effect.flatMap(build(scope), (services) => Effect.provideContext(effect, services)))
    /** Work behind the end of a run, which has released the layer, needs it again. */
    const within = (mode: Mode): Mode => ({
      ...mode,
      provided: (effect) => {
        const provided = (withServices(effect) as Effect.Effect<void, E2>).pipe(
          Effect.catchCause((cause) => Effect.logError(`A service of agent "${self.name}" is missing`, cause))
        )
        return mode.provided?.(provided) ?? provided
      }
    })
    const provided = fromExecute(
      self.name,
      (input: In, mode) => withServices(self.runIn(input, within(mode))),
      self.declared
    )
    Object.assign(provided, descriptionOf(self))
    if (!isResumable(self)) return provided as never
    const { check, end, explain, mayAsk, proceed, resume, resumeStream, start, shouldCompensate } = self
    return Object.assign(provided, {
      mayAsk,
      shouldCompensate,
      end: (snapshot: unknown, over: Over, mode?: EndMode) => withServices(end(snapshot, over, mode)),
      explain: (snapshot: unknown) => withServices(explain(snapshot)),
      check: (snapshot: unknown, decisions: ReadonlyArray<Decision>) => withServices(check(snapshot, decisions)),
      proceed: (from: From<In>, mode: Mode) => withServices(proceed(from, within(mode))),
      start: (input: In, options?: RunOptions) => withServices(start(input, options)),
      resume: (snapshot: unknown, decisions: ReadonlyArray<Decision>, options?: Pick<RunOptions, "streaming">) =>
        withServices(resume(snapshot, decisions, options)),
      resumeStream: (snapshot: unknown, decisions: ReadonlyArray<Decision>, options?: StreamOptions) =>
        Stream.unwrap(Effect.map(
          Effect.flatMap(Effect.scope, build),
          (services) => Stream.provideContext(resumeStream(snapshot, decisions, options), services)
        ))
    }) as never
  }

/**
 * True if an agent can wait for approvals, and be resumed.
 *
 * @category guards
 * @since 0.2.0
 */
export const isResumable = <In>(u: object): u is Resumable<In, unknown, unknown, unknown> => "resume" in u

/**
 * An agent with provided services: a resumable one stays resumable.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Provided<Self, In, Out, E, R, E2, RIn, ROut> = Self extends
  ModelAgent<infer Input, infer Output, infer ME, infer MR, infer Pause, infer Key>
  ? ModelAgent<Input, Output, ME | E2, RIn | Exclude<MR, ROut>, Pause, Exclude<Key, ROut>>
  :
    & Agent<In, Out, E | E2, RIn | Exclude<R, ROut>>
    & (Self extends Resumable<infer In2, infer Out2, infer RE, infer RR, infer Resume>
      ? Resumable<In2, Out2, RE | E2, RIn | Exclude<RR, ROut>, RIn | Exclude<Resume, ROut>>
      : unknown)
    & DescriptionOf<Self>
