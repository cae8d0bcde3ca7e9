/** Serves a project on this machine: routes, chat, studio, with conversations in a file. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Redacted from "effect/Redacted"
import type { LanguageModel } from "effect/ai/LanguageModel"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import { createServer } from "node:http"
import { layerKey, type SnapshotKey } from "@recourse/core/Approval"
import * as AgentEvent from "@recourse/core/AgentEvent"
import type { Runs } from "@recourse/core/Runs"
import * as Conversation from "@recourse/core/Conversation"
import * as Authentication from "@recourse/server/Authentication"
import * as MemoryRuns from "@recourse/server/MemoryRuns"
import * as Server from "@recourse/server/Server"
import * as NodeSqliteClient from "@recourse/sql/NodeSqliteClient"
import type { Project } from "../../Project.ts"
import * as NextFaults from "../../NextFaults.ts"
import * as Studio from "../../Studio.ts"
import { durableRuns } from "./durableRuns.ts"
import { CannotServe, orCannotServe } from "./cannotServe.ts"
import type { Chosen } from "./model.ts"
import { ownHost } from "./ownHost.ts"
import { portTaken } from "./watch.ts"

/** Options of a served project. */
export interface Options {
  readonly project: Project
  readonly model: Chosen
  readonly host: string
  readonly port: number
  /** The folder of the conversations. */
  readonly data: string
  /** True if runs are stored there too. */
  readonly durable: boolean
  /** True if the events of runs are printed. */
  readonly timeline: boolean
}

const cards = ({ agents, cards }: Project): ReadonlyArray<Server.AgentCard> =>
  agents.map((agent) => ({
    tools: (agent.declared?.tools ?? []).map(({ description, name }) => ({ name, description })),
    ...(Object.hasOwn(cards, agent.name) ? cards[agent.name] : undefined),
    name: agent.name
  }))

/** Makes the folder, which no version control looks into. */
const folder = (data: string) =>
  Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    yield* files.makeDirectory(data, { recursive: true })
    yield* files.writeFileString(path.join(data, ".gitignore"), "*\n")
    return path.join(data, "studio.db")
  }).pipe(Effect.mapError((error) => new CannotServe({ problem: `${data} cannot be written: ${error.message}` })))

const codeOf = (cause: unknown): string | undefined =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined

/** Node's server. Browsers open connections ahead, on which no request ever comes: closing does not wait for them. */
const nodeServer = (options: Parameters<typeof NodeHttpServer.layer>[1]) => {
  const server = createServer()
  const cut = Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
  return Layer.effectDiscard(cut).pipe(Layer.provideMerge(NodeHttpServer.layer(() => server, options)))
}

const listening = ({ host, port }: Options) =>
  orCannotServe(
    nodeServer({ host, port, gracefulShutdownTimeout: "300 millis" }),
    ({ cause }) =>
      codeOf(cause) === "EADDRINUSE"
        ? portTaken(port).problem
        : `Port ${port} of ${host} cannot be opened (${codeOf(cause) ?? "unknown"}). Name others: --host, --port`
  )

const conversations = (data: string) =>
  orCannotServe(
    Conversation.layerSql().pipe(
      Layer.provide(Layer.unwrap(Effect.map(folder(data), (filename) => NodeSqliteClient.layer({ filename }))))
    ),
    (error) => `The conversations in ${data} cannot be opened: ${error.message}`
  )

/** A server of the project, as long as the layer's scope is open. `onAddress` receives the address of the pages. */
export const serve = (options: Options, onAddress: (url: string) => Effect.Effect<void>) => {
  const { data, model, project } = options
  const needed = orCannotServe(
    project.services ?? Layer.empty,
    (error) => `The services of the project cannot be made: ${String(error)}`
  )
  // The types of a project ask for all that its agents need besides.
  const storage = options.durable ? durableRuns(project.agents, data) : {
    runs: MemoryRuns.layer({ agents: project.agents, gracePeriod: "200 millis" }),
    // Runs that wait are in the memory of this process: so is their key.
    key: layerKey(Redacted.make(crypto.randomUUID() + crypto.randomUUID()))
  }
  const bare = storage.runs as Layer.Layer<Runs, CannotServe, LanguageModel | SnapshotKey>
  const made = Layer.effectDiscard(folder(data))
  const runs = NextFaults.runs(bare).pipe(
    Layer.provide([model.layer, needed, storage.key]),
    Layer.provide([made, options.timeline ? AgentEvent.layerConsole() : Layer.empty])
  )
  const routes = Layer.mergeAll(
    Server.layer({
      agents: cards(project),
      onFeedback: ({ comment, runId, value }) =>
        Effect.logInfo(`Feedback: ${value}${comment === undefined ? "" : `, "${comment}"`}`).pipe(
          Effect.annotateLogs({ run: runId })
        )
    }),
    Studio.layer(),
    NextFaults.routes
  )
  // Node accepts connections before a handler exists: everything is made before the port is opened.
  return Layer.unwrap(Effect.map(
    HttpRouter.toHttpEffect(routes),
    (app) =>
      Layer.effectDiscard(HttpServer.addressFormattedWith(onAddress)).pipe(
        Layer.provide(HttpServer.serve(ownHost(options.host)(app))),
        Layer.provide(listening(options))
      )
  )).pipe(
    // Streams send their end before Node closes their connections, so that a page reconnects at once.
    Server.drained({ within: "200 millis" }),
    Layer.provide(runs),
    Layer.provide(conversations(data)),
    Layer.provide(Authentication.layerAnonymous(
      { id: "developer", rights: ["chat", "decide", "operate"] },
      // An address of version 6 is one anyway.
      { hosts: options.host.includes(":") ? [] : [options.host] }
    )),
    Layer.provide(NodeHttpServer.layerHttpServices)
  )
}
