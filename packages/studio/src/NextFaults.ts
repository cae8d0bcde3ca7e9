/**
 * Next faults: a developer of an agent chooses faults in the studio, and starts a run. The command `recourse-studio`
 * has them. Not for production: a user of the routes can make the next run of any user fail.
 *
 * **Example** (A server of development)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { Agent } from "@recourse/core"
 * import { MemoryRuns } from "@recourse/server"
 * import { NextFaults } from "@recourse/studio"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const agent = Agent.make("support", {})
 * const runs = NextFaults.runs(MemoryRuns.layer({ agents: [agent] })).pipe(
 *   Layer.provide(ScriptedModel.layer([ScriptedModel.text("Hello.")]))
 * )
 * const routes = Layer.provide(NextFaults.routes, runs)
 *
 * Layer.isLayer(routes) // => true
 * ```
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as Stream from "effect/Stream"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Response from "effect/http/HttpServerResponse"
import { CurrentJournal } from "@recourse/core/Journal"
import { Runs } from "@recourse/core/Runs"
import { type Interceptor, ToolInterceptor } from "@recourse/core/ToolInterceptor"
import * as FaultPlan from "@recourse/testing/FaultPlan"
import * as Faults from "@recourse/testing/Faults"

/**
 * Faults of the next run.
 *
 * @category services
 * @since 0.2.0
 */
export class NextFaults extends Context.Service<NextFaults, { injections: ReadonlyArray<FaultPlan.Injection> }>()(
  "@recourse/studio/NextFaults"
) {}

type Model = LanguageModel.LanguageModel

/** Model and tools of a run with faults. */
interface Faulty {
  readonly model: Model
  readonly intercept: Interceptor | undefined
}

const CurrentFaulty: Context.Reference<Faulty | undefined> = Context.Reference<Faulty | undefined>(
  "@recourse/studio/CurrentFaulty",
  { defaultValue: () => undefined }
)

/** Faults of runs, by their ids. */
type OfRuns = Map<string, Faulty>

/** The faults of the current run: a durable one has a fiber of its own, and is identified by its journal. */
const faultyOf = (ofRuns: OfRuns): Effect.Effect<Faulty | undefined> =>
  Effect.flatMap(CurrentFaulty, (faulty) =>
    faulty !== undefined
      ? Effect.succeed(faulty)
      : Effect.map(CurrentJournal, (journal) => journal && ofRuns.get(journal.runId)))

/** A model that is the run's own if the run has faults. */
const model = (ofRuns: OfRuns) =>
  Layer.effect(
    LanguageModel.LanguageModel,
    Effect.map(LanguageModel.LanguageModel, (plain): Model => {
      const current = Effect.map(faultyOf(ofRuns), (faulty) => faulty?.model ?? plain)
      return {
        ...plain,
        generateText: ((options: never) => Effect.flatMap(current, (model) => model.generateText(options))) as never,
        generateObject: ((options: never) =>
          Effect.flatMap(current, (model) => model.generateObject(options))) as never,
        streamText: ((options: never) =>
          Stream.unwrap(Effect.map(current, (model) => model.streamText(options)))) as never
      }
    })
  )

const tools = (ofRuns: OfRuns) =>
  Layer.succeed(
    ToolInterceptor,
    (execution, execute) =>
      Effect.flatMap(faultyOf(ofRuns), (faulty) => faulty?.intercept?.(execution, execute) ?? execute)
  )

const newId = Effect.map(WebCrypto.WebCrypto, (crypto) => `run_${crypto.randomUUID().replaceAll("-", "")}`)

/**
 * Runs, the next of which has the faults that are waiting.
 *
 * @category layers
 * @since 0.2.0
 */
export const runs = <E, R>(
  runs: Layer.Layer<Runs, E, R>
): Layer.Layer<Runs | NextFaults, E, R | LanguageModel.LanguageModel> => {
  const ofRuns: OfRuns = new Map()
  return Layer.effectContext(
    Effect.gen(function*() {
      const inner = yield* Runs
      const plain = yield* LanguageModel.LanguageModel
      const next: NextFaults["Service"] = { injections: [] }
      const make = Effect.suspend(() => {
        const plan = FaultPlan.make(next.injections)
        const built = Layer.build(Layer.provide(Faults.layer(plan), Layer.succeed(LanguageModel.LanguageModel, plain)))
        return Effect.scoped(Effect.map(built, (context): Faulty => ({
          model: Context.get(context, LanguageModel.LanguageModel),
          intercept: Context.get(context as Context.Context<never>, ToolInterceptor)
        })))
      })
      const start: typeof inner.start = (request) =>
        Effect.suspend(() => {
          if (next.injections.length === 0) return inner.start(request)
          return Effect.flatMap(Effect.zip(make, newId), ([faulty, newId]) => {
            const { runId = newId } = request
            const before = ofRuns.get(runId)
            // It may begin before it is known to be new.
            ofRuns.set(runId, faulty)
            return Effect.onExit(
              Effect.provideService(inner.start({ ...request, runId }), CurrentFaulty, faulty),
              (exit) =>
                Effect.sync(() => {
                  if (Exit.isSuccess(exit) && exit.value.isNew) next.injections = []
                  else if (before === undefined) ofRuns.delete(runId)
                  else ofRuns.set(runId, before)
                })
            )
          })
        })
      const decide: typeof inner.decide = (runId, decisions) =>
        Effect.provideService(inner.decide(runId, decisions), CurrentFaulty, ofRuns.get(runId))
      return Context.make(Runs, { ...inner, start, decide }).pipe(Context.add(NextFaults, next))
    })
  ).pipe(Layer.provide(Layer.provide(runs, [model(ofRuns), tools(ofRuns)])))
}

const Request = Schema.Struct({ injections: Schema.Array(FaultPlan.Injection) })

const answer = ({ injections }: NextFaults["Service"]) =>
  Response.jsonUnsafe({
    next: injections.map((injection) => FaultPlan.print(FaultPlan.make([injection])).split("\n")[1]),
    ofTools: FaultPlan.toolFaults,
    ofModels: FaultPlan.modelFaults,
    reasons: FaultPlan.ModelErrorReason.literals
  })

/** Requests from pages of other sites have another media type, or need a preflight. */
const isJson = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ headers }) => headers["content-type"]?.startsWith("application/json") === true
)

const set = (next: NextFaults["Service"]) =>
  Effect.gen(function*() {
    if (!(yield* isJson)) return Response.empty({ status: 415 })
    const { injections } = yield* HttpServerRequest.schemaBodyJson(Request)
    next.injections = injections
    return answer(next)
  }).pipe(Effect.catch(() => Effect.succeed(Response.empty({ status: 400 }))))

/**
 * Routes for the faults of the studio's page. Without them, the page does not offer faults.
 *
 * @category layers
 * @since 0.2.0
 */
export const routes: Layer.Layer<never, never, HttpRouter.HttpRouter | NextFaults> = HttpRouter.use((router) =>
  Effect.gen(function*() {
    const next = yield* NextFaults
    yield* router.add("GET", "/_studio/faults", Effect.sync(() => answer(next)))
    yield* router.add("POST", "/_studio/faults", set(next))
  })
)
