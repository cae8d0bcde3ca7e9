/** `ToolRun.make` and `ToolRun.open`: start a run for the loop of another program. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type * as Types from "effect/Types"
import { CurrentSyncListener, type SyncListener } from "../../../AgentEventListener.ts"
import type { OnTainted } from "../../../Quarantine.ts"
import type { SnapshotKey } from "../../approval/snapshotKey.ts"
import { type CallPort, type CallServer, serveCalls } from "../../loop/callServer.ts"
import { aLimit, anObject, checkArgument } from "../../foundation/options/optionCheck.ts"
import { checkName } from "../../foundation/options/checkName.ts"
import type * as Tool from "../../tool/tool.ts"
import type { Agent } from "../agent.ts"
import type { Compensating } from "../compensation/compensationOptions.ts"
import type { ForCallsOptions } from "../compose/callAgent.ts"
import type { CallRunOptions, CallRunServices } from "../compose/callRunTypes.ts"
import type { CallTypes } from "../options.ts"
import { ofCalls } from "../programAgent.ts"
import { runningCalls } from "./runningCalls.ts"
import type { ToolRun } from "./toolRun.ts"

/**
 * Options of a run for another loop: as the options of `Agent.make` with these names.
 *
 * @category options
 * @since 0.2.0
 */
export interface ToolRunOptions<Tools extends ReadonlyArray<Tool.Any>, O = {}>
  extends Omit<ForCallsOptions<Tools, O>, "budget" | "onTainted">
{
  /** Caps of the whole run. The loop counts its own turns. Default: none but those of `Budget.layerDefaults`. */
  readonly budget?: ForCallsOptions<Tools>["budget"]
  /** Rights of the run once it has read the answer of an untrusted tool. Default: `"approve"`. */
  readonly onTainted?: OnTainted | undefined
  /** Number of equal failures of the same call after which the model is instructed to stop. Default: 3. */
  readonly repeatedFailures?: number | undefined
  /** How often the same call may give the same result while no other call gives a new one. Default: 4. */
  readonly repeatedCalls?: number | undefined
  /**
   * The id of the run. A loop that is restarted after a crash gives the id that it gave before: then the same call has
   * the same idempotency key. Default: random.
   */
  readonly runId?: string | undefined
  /** Receives each event of the run, synchronously. Its exceptions are logged. Default: none. */
  readonly onEvent?: SyncListener | undefined
}

type Given = ToolRunOptions<Tool.List, unknown> & Compensating<unknown>

/** The agent whose one run serves the calls of the loop. */
const servingAgent = (name: string, options: Given, port: CallPort): Agent<undefined, void, unknown, unknown> => {
  checkArgument(`ToolRun "${name}"`, "its options", options, anObject)
  const { repeatedCalls = 4, repeatedFailures = 3 } = options
  checkArgument(`ToolRun "${name}"`, "repeatedCalls", repeatedCalls, aLimit)
  checkArgument(`ToolRun "${name}"`, "repeatedFailures", repeatedFailures, aLimit)
  return ofCalls(name, options as never, {
    given: { run: (state) => serveCalls(state, port), answer: () => undefined },
    repeatedFailures,
    repeatedCalls,
    // The loop decides in this process: the run has no snapshot.
    mayAsk: false
  }) as never
}

const heardBy = (listener: SyncListener | undefined) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  listener === undefined ?
    effect :
    Effect.flatMap(CurrentSyncListener, (around) =>
      Effect.provideService(effect, CurrentSyncListener, (event) => {
        try {
          around?.(event)
        } finally {
          listener(event)
        }
      }))

const start = (name: string, options: Given) =>
  Effect.gen(function*() {
    const port: CallPort = {
      opened: yield* Deferred.make<CallServer>(),
      end: yield* Deferred.make<void, unknown>()
    }
    const agent = servingAgent(name, options, port)
    const { runId } = options
    const ran = agent.report(undefined, runId === undefined ? undefined : { runId }).pipe(heardBy(options.onEvent))
    const fiber = yield* Effect.forkScoped(ran)
    // A run that cannot start ends without opening: a full budget of the run around it, for example.
    const opened = yield* Effect.raceFirst(
      Deferred.await(port.opened),
      Effect.flatMap(
        Fiber.join(fiber),
        ({ exit }) => Exit.isFailure(exit) ? Effect.failCause(exit.cause) : Effect.never
      )
    )
    const run = runningCalls({ id: opened.runId, name, tools: options.tools, server: opened, port, fiber })
    yield* Effect.addFinalizer((exit) => Exit.isSuccess(exit) ? run.end : run.cancel)
    return run
  })

/**
 * Starts a run for the loop of another program: of the AI SDK, LangChain or your own. Its calls have all features of an
 * agent's run: recovery, one budget, policies, approvals, keys, compensation, events, spans, audit, redaction and
 * quarantine.
 *
 * `run.call` returns a tagged outcome: the result, or the failure that the model reads. Errors that a tool's recovery
 * leaves fail the call and end the run. The run ends with its scope: interrupted, if the scope closes with a failure.
 * Throws `ConfigurationError` for two tools of one name.
 *
 * **Example** (Two calls, one budget)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolRun } from "@recourse/core"
 *
 * const Double = Tool.make("double", {
 *   parameters: Schema.Struct({ n: Schema.Number }),
 *   success: Schema.Number,
 *   execute: ({ n }) => Effect.succeed(n * 2)
 * })
 * const program = Effect.gen(function*() {
 *   const run = yield* ToolRun.make("loop", { tools: [Double], defaults: { onError: Recovery.standard } })
 *   const first = yield* run.call({ id: "call_1", name: "double", arguments: { n: 21 } })
 *   const second = yield* run.call({ id: "call_2", name: "double", arguments: "{\"n\": \"many\"}" })
 *   const { executed } = yield* run.end
 *   return [first._tag === "Success" && first.value, second._tag === "Failure" && second.failure.code, executed.length]
 * })
 *
 * await Effect.runPromise(Effect.scoped(program)) // => [42, "invalid_arguments", 1]
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make: <
  const Tools extends Tool.List,
  O = {}
>(
  name: string,
  options: CallRunOptions<ToolRunOptions<Tools, O>, keyof ToolRunOptions<[]> | keyof Compensating<0>, Tools, O>
) => Effect.Effect<
  ToolRun<Tools[number], CallTypes<Tools[number], {}, O>["error"]>,
  CallTypes<Tools[number], {}, O>["error"],
  Exclude<CallRunServices<Tools, O>, SnapshotKey> | Scope.Scope
> = (name, options) => {
  checkName("ToolRun.make", "run", "desk", name)
  return start(name, options as never) as never
}

/**
 * Asks for a layer if the run needs services.
 *
 * @category utility types
 * @since 0.2.0
 */
export type WithLayer<R> = [R] extends [never] ? { readonly layer?: Layer.Layer<never> | undefined }
  : { readonly layer: Layer.Layer<R, unknown> }

/**
 * {@link make} for programs of promises. `layer` provides the services of the tools, a ledger for example, and is
 * released at the end of the run. End the run with `run.endPromise()`. Rejects if the layer cannot be built.
 *
 * **Example** (A run without Effect)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolRun } from "@recourse/core"
 *
 * const Greet = Tool.make("greet", {
 *   parameters: Schema.Struct({ name: Schema.String }),
 *   success: Schema.String,
 *   execute: ({ name }) => Effect.succeed(`Hello ${name}`)
 * })
 * const run = await ToolRun.open("loop", { tools: [Greet] })
 * const outcome = await run.callPromise({ id: "call_1", name: "greet", arguments: { name: "Ada" } })
 * const { usage } = await run.endPromise()
 *
 * outcome._tag === "Success" && outcome.value // => "Hello Ada"
 * usage.toolCalls // => 1
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const open: <
  const Tools extends Tool.List,
  O = {}
>(
  name: string,
  options:
    & CallRunOptions<
      ToolRunOptions<Tools, O>,
      keyof ToolRunOptions<[]> | keyof Compensating<0> | "layer",
      Tools,
      O
    >
    & WithLayer<Exclude<CallRunServices<Tools, Types.NoInfer<O>>, SnapshotKey>>
) => Promise<ToolRun<Tools[number], CallTypes<Tools[number], {}, O>["error"]>> = (name, options) => {
  checkName("ToolRun.open", "run", "desk", name)
  const { layer = Layer.empty, ...others } = options as unknown as Given & {
    readonly layer?: Layer.Layer<unknown, unknown>
  }
  const opened = Effect.gen(function*() {
    const scope = yield* Scope.make()
    const started = Effect.flatMap(
      Layer.buildWithScope(layer, scope),
      (services) => Effect.provideContext(start(name, others), services)
    )
    const run = yield* Effect.onError(
      Effect.provideService(started, Scope.Scope, scope),
      (cause) => Scope.close(scope, Exit.failCause(cause))
    )
    yield* Effect.forkDetach(Effect.andThen(run.report, Scope.close(scope, Exit.void)))
    return run
  })
  return Effect.runPromise(opened as Effect.Effect<never>)
}
