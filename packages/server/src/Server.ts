/**
 * Server: agents over HTTP, for the front ends that people have. `useChat` of the AI SDK, AG-UI, `EventSource`, and every client
 * of OpenAI's chat completions talk to the same runs.
 *
 * A run belongs to the server: a closed tab neither interrupts nor repeats it.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import { Audit } from "@recourse/core/Audit"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import { Conversations } from "@recourse/core/Conversation"
import { IdempotencyLedger } from "@recourse/core/IdempotencyLedger"
import * as OptionCheck from "@recourse/core/OptionCheck"
import { type RunInfo, Runs } from "@recourse/core/Runs"
import type { Authentication } from "./Authentication.ts"
import { Chats, type OnBusy } from "./internal/chat/chats.ts"
import { Indexer } from "./internal/index/indexer.ts"
import { memoryIndex } from "./internal/index/memoryIndex.ts"
import { preflight, readable } from "./internal/http/cors.ts"
import { limitsOf, type Rate } from "./internal/http/limits.ts"
import { explainMissingRoutes } from "./internal/http/missingRoute.ts"
import { answered } from "./internal/http/problem.ts"
import { check } from "./internal/http/request.ts"
import { securityHeaders } from "./internal/http/securityHeaders.ts"
import { agUiRoutes } from "./internal/routes/agUi.ts"
import { completionRoutes } from "./internal/routes/completions.ts"
import type { AgentCard, Config, Feedback } from "./internal/routes/config.ts"
import type { OnPageInput } from "./internal/routes/pageInput.ts"
import { operatorRoutes } from "./internal/routes/operator.ts"
import { runLogRoutes } from "./internal/routes/runLog.ts"
import { runRoutes } from "./internal/routes/runRoutes.ts"
import { threadRoutes } from "./internal/routes/threads.ts"
import { uiChatRoutes } from "./internal/routes/uiChat.ts"
import { compensationRoutes } from "./internal/routes/compensations.ts"
import { ledgerRoutes } from "./internal/routes/ledger.ts"
import { outcomeRoutes } from "./internal/routes/outcomes.ts"
import { RunIndex } from "./RunIndex.ts"
import { document } from "./ServerApi.ts"
import { CurrentShutdown, Shutdown } from "./internal/shutdown.ts"
import type { NewThread } from "./internal/chat/turns.ts"
import { Frames } from "./internal/wire/frames.ts"
export type { OnBusy } from "./internal/chat/chats.ts"
export type { NewThread } from "./internal/chat/turns.ts"
export type { Rate } from "./internal/http/limits.ts"
export type { AgentCard, Feedback } from "./internal/routes/config.ts"
export { type OnPageInput, type PageInput, PageInputRefused } from "./internal/routes/pageInput.ts"

/**
 * Options of served agents.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** The agents with routes, and their public descriptions. `Runs` executes them, and has to know them, too. */
  readonly agents: ReadonlyArray<AgentCard>
  /** Tools whose arguments and results no page sees; their names are shown. Default: none. */
  readonly hiddenTools?: ReadonlyArray<string> | undefined
  /**
   * Origins of pages that may send requests, with the user's cookies, and read the answers, such as `https://app.example.com`. The
   * server's own may. Default: none.
   */
  readonly origins?: ReadonlyArray<string> | undefined
  /** The largest body of a request, in bytes. Default: 1 MiB. */
  readonly maxBodyBytes?: number | undefined
  /**
   * Treatment of a new message while a run of its thread has not ended. No message queues behind a waiting run.
   * Default: `"refuse"`.
   */
  readonly onBusy?: OnBusy | undefined
  /** A comment is sent after so much silence on an event stream. Default: 15 seconds. */
  readonly heartbeat?: Duration.Input | undefined
  /**
   * Makes the title of a thread when its first message is answered, like `Title.fromConversation`. It runs in parallel
   * to everything else; failures are logged. Default: a thread is named after its first message. A title of a person
   * stays.
   */
  readonly title?: ((said: NewThread) => Effect.Effect<string, unknown>) | undefined
  /**
   * Treatment of tools that a page declares and executes itself, by AG-UI's `tools`. Their descriptions, arguments and
   * results are untrusted, and taint the run. Default: `"allow"`; `"refuse"` answers 400.
   */
  readonly requestTools?: "allow" | "refuse" | undefined
  /**
   * Reads `state` and `forwardedProps` of AG-UI's requests before a run starts. It fails with `PageInputRefused`, or the `SchemaError` of a decoder,
   * for 400. Default: they are refused with 400 unless they are empty.
   */
  readonly onPageInput?: OnPageInput | undefined
  /** Stores a user's feedback on a run. Absent: there is no route for it. */
  readonly onFeedback?: ((feedback: Feedback) => Effect.Effect<void, unknown>) | undefined
  /** Number of a principal's requests in a window. Default: 600 in a minute; `false`: any number. */
  readonly rateLimit?: Rate | false | undefined
  /** How many streams a principal may have open at the same time: one more is refused with 429 and starts no run. Default: 64. */
  readonly maxStreams?: number | undefined
  /**
   * Number of an address's requests with wrong credentials in a window. Then all its requests are refused with 429
   * until the window has room. Behind a proxy, add effect's `HttpMiddleware.xForwardedHeaders`, because all clients
   * have the proxy's address otherwise. Default: 60 in a minute; `false`: any number.
   */
  readonly wrongCredentials?: Rate | false | undefined
}

/** `GET /agents`: the principal, its agents, and the size limits of its requests. */
const capabilities = (config: Config) =>
  Effect.map(check(config.checks, "chat"), ({ principal }) =>
    Response.jsonUnsafe({
      agents: [...config.agents.values()].filter(({ name }) => principal.agents?.includes(name) ?? true),
      principal: { id: principal.id, rights: principal.rights ?? ["chat", "decide"] },
      maxBodyBytes: config.checks.maxBodyBytes,
      takesFeedback: config.onFeedback !== undefined,
      onBusy: config.chats.onBusy
    }))

/** `GET /ready`: whether the stores of runs and of conversations answer. */
const ready = (config: Config) =>
  Effect.gen(function*() {
    const conversations = yield* Conversations
    yield* Effect.all([
      config.chats.runs.list({ limit: 1 }),
      conversations.list({ owner: "", limit: 1 })
    ], { concurrency: 2 })
    return Response.jsonUnsafe({ status: "ok" })
  }).pipe(
    Effect.timeout("2 seconds"),
    Effect.catchCause((cause) =>
      Effect.as(
        Effect.logWarning("The server is not ready", cause),
        Response.jsonUnsafe({ status: "unavailable" }, { status: 503, headers: { "retry-after": "5" } })
      )
    )
  )

/** Routes that need no credentials. However many ask, the stores are asked once a second. */
const openRoutes = (config: Config) =>
  Effect.map(Effect.cachedWithTTL(ready(config), "1 second"), (ready) => [
    HttpRouter.route("GET", "/openapi.json", Effect.sync(() => Response.jsonUnsafe(document()))),
    HttpRouter.route("GET", "/health", Response.jsonUnsafe({ status: "ok" })),
    HttpRouter.route("GET", "/ready", ready)
  ])

/** Interval at which a page of waiting runs is checked. */
const sweep = Duration.seconds(5)

/** Fails calls of client tools whose page has not answered in time: a page of waiting runs each time, so that its cost is bounded. */
const expiring = (chats: Chats) => {
  let behind: Pick<RunInfo, "runId" | "startedAt"> | undefined
  const look = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const runs = yield* chats.runs.list({ status: "waiting", limit: 100, behind })
    behind = runs.length < 100 ? undefined : runs.at(-1)
    // Another server, or the page, may be first.
    yield* Effect.forEach(runs, (run) => Effect.ignore(chats.expire(run, now)), { discard: true })
  })
  const logged = Effect.catchCause(
    look,
    (cause) => Effect.logWarning("Waiting runs could not be looked through", cause)
  )
  return Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(sweep), logged)))
}

const aRate: OptionCheck.Kind = {
  is: (value) => value === false || OptionCheck.anObject.is(value),
  called: "{ limit: 600, window: \"1 minute\" }, or false"
}

const rateKinds = { limit: OptionCheck.aPositiveCount, window: OptionCheck.anInterval }

const someCards = OptionCheck.listOf({
  is: (value) => OptionCheck.anObject.is(value) && OptionCheck.aString.is((value as Partial<AgentCard>).name),
  called: "descriptions: { name, description, tools }"
})

const kinds: Readonly<Record<keyof Options, OptionCheck.Kind>> = {
  agents: someCards,
  hiddenTools: OptionCheck.listOf(OptionCheck.aString),
  origins: OptionCheck.listOf(OptionCheck.aString),
  maxBodyBytes: OptionCheck.aPositiveCount,
  onBusy: OptionCheck.oneOf("refuse", "queue", "join", "interrupt"),
  heartbeat: OptionCheck.anInterval,
  title: OptionCheck.aFunction,
  requestTools: OptionCheck.oneOf("allow", "refuse"),
  onPageInput: OptionCheck.aFunction,
  onFeedback: OptionCheck.aFunction,
  rateLimit: aRate,
  // `limitsOf` says more.
  maxStreams: OptionCheck.anything,
  wrongCredentials: aRate
}

/** Throws `ConfigurationError` for options that the compiler refuses. */
const checkServerOptions = (options: Options): void => {
  OptionCheck.checkOptions("Server", options, { kinds, otherNames: { cors: "origins", maxBodySize: "maxBodyBytes" } })
  OptionCheck.checkArgument("Server", "agents", options.agents, someCards)
  for (const name of ["rateLimit", "wrongCredentials"] as const) {
    if (!options[name]) continue
    OptionCheck.checkOptions("Server", options[name], { kinds: rateKinds, otherNames: {} }, `${name}.`)
  }
}

/** The agents by name. Fails for two of one name, and for origins that are none. */
const checkedCards = Effect.fnUntraced(function*(options: Options) {
  yield* Effect.try({ try: () => checkServerOptions(options), catch: (error) => error as ConfigurationError })
  const agents = new Map(options.agents.map((card) => [card.name, card]))
  if (agents.size !== options.agents.length) {
    return yield* new ConfigurationError({ subject: "Server", problem: "two agents have the same name" })
  }
  for (const origin of options.origins ?? []) {
    if (URL.canParse(origin) && new URL(origin).origin === origin) continue
    const problem = `"${origin}" is no origin: write it as https://app.example.com`
    return yield* new ConfigurationError({ subject: "Server", problem })
  }
  return agents
})

/**
 * Routes for an `HttpRouter`: serve them with `HttpRouter.serve`, or as a fetch handler with `HttpRouter.toWebHandler`.
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (
  options: Options
): Layer.Layer<never, ConfigurationError, HttpRouter.HttpRouter | Runs | Conversations | Authentication> =>
  HttpRouter.use((router) =>
    Effect.gen(function*() {
      const agents = yield* checkedCards(options)
      const hidden = new Set(options.hiddenTools)
      const chats = new Chats(yield* Runs, yield* Conversations, yield* Effect.scope, {
        onBusy: options.onBusy ?? "refuse",
        title: options.title
      })
      const index = yield* Effect.serviceOption(RunIndex)
      const config: Config = {
        agents,
        indexer: new Indexer(chats.runs, Option.getOrElse(index, memoryIndex)),
        audit: yield* Audit,
        ledger: Option.getOrUndefined(yield* Effect.serviceOption(IdempotencyLedger)),
        chats,
        onFeedback: options.onFeedback,
        requestTools: options.requestTools ?? "allow",
        onPageInput: options.onPageInput,
        frames: yield* Frames.make(chats.runs, (runId) => chats.turns.settled(runId), {
          heartbeat: Duration.fromInputUnsafe(options.heartbeat ?? "15 seconds"),
          keepFor: Duration.seconds(5)
        }),
        shows: (tool) => !hidden.has(tool),
        checks: {
          maxBodyBytes: options.maxBodyBytes ?? 1024 * 1024,
          origins: new Set(options.origins),
          limits: yield* limitsOf(options)
        }
      }
      const { runs } = chats
      yield* expiring(chats)
      yield* (yield* CurrentShutdown)?.add((within) =>
        runs.drain === undefined
          ? config.frames.close(within)
          // An interrupted run has to emit its end.
          : Effect.andThen(runs.drain(within), config.frames.close(Duration.seconds(2)))
      ) ?? Effect.void
      // Each request has a scope of its own.
      const context = Context.omit(Scope.Scope)(yield* Effect.context<Runs | Conversations | Authentication>())
      const routes = [
        HttpRouter.route("GET", "/agents", answered(capabilities(config))),
        ...uiChatRoutes(config),
        ...agUiRoutes(config),
        ...runRoutes(config),
        ...operatorRoutes(config),
        ...outcomeRoutes(config),
        ...compensationRoutes(config),
        ...ledgerRoutes(config),
        ...runLogRoutes(config),
        ...threadRoutes(config),
        ...completionRoutes(config),
        ...yield* openRoutes(config)
      ]
      const { origins } = config.checks
      yield* router.addAll(routes.map(({ handler, method, path }) =>
        HttpRouter.route(
          method,
          path,
          readable(origins)(Effect.map(Effect.provide(handler, context), Response.setHeaders(securityHeaders)))
        )
      ))
      yield* router.addGlobalMiddleware(explainMissingRoutes(origins))
      if (origins.size === 0) return
      const byPath = Map.groupBy(routes, ({ path }) => path)
      yield* router.addAll([...byPath].map(([path, routes]) =>
        HttpRouter.route("OPTIONS", path, preflight(origins, routes.map(({ method }) => method)))
      ))
    })
  )

/** A response ends behind its last words. Node waits 5 seconds for a connection that is not idle yet when the server closes. */
const untilIdle = Duration.millis(100)

export { explained } from "./internal/listenError.ts"

/**
 * Options of a server's shutdown.
 *
 * @category options
 * @since 0.2.0
 */
export interface DrainOptions {
  /** Time in which runs and streams may end. Default: 10 seconds. */
  readonly within?: Duration.Input | undefined
}

/**
 * The result of `HttpRouter.serve` of `Server.layer`, with an orderly end. When the layer's scope closes, for example
 * by `SIGTERM`, no run is accepted any more, and running ones have `within` to end. Then they are interrupted lawfully,
 * and every open stream emits its end. Runs that continue in another process (`@recourse/durable`) are left to it:
 * their streams end with a request to reconnect. Only then are connections closed.
 *
 * ```ts
 * import { HttpRouter } from "effect/http"
 * import { Server } from "@recourse/server"
 *
 * const app = HttpRouter.serve(Server.layer({ agents: [{ name: "support", tools: [] }] })).pipe(Server.drained({ within: "20 seconds" }))
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const drained = (options: DrainOptions = {}) => <A, E, R>(served: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.unwrap(Effect.sync(() => {
    OptionCheck.checkOptions("Server.drained", options, { kinds: { within: OptionCheck.aDuration }, otherNames: {} })
    const shutdown = new Shutdown()
    const within = Duration.fromInputUnsafe(options.within ?? "10 seconds")
    // Built last, closed first: before the HTTP server waits for its connections.
    return Layer.effectDiscard(Effect.addFinalizer(() => Effect.andThen(shutdown.end(within), Effect.sleep(untilIdle))))
      .pipe(
        Layer.provideMerge(served),
        Layer.provide(Layer.succeed(CurrentShutdown, shutdown))
      )
  }))
