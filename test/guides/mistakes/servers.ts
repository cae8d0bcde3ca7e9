/** Mistakes in the set-up of a server. */
import { NodeHttpServer } from "@effect/platform-node"
import { Agent, Conversation } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Cause, Context, Effect, Exit, Layer, Logger } from "effect"
import { AiError, Prompt } from "effect/ai"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer, request } from "node:http"
import { type Evaluate, failureOf, type Mistake, shown } from "./mistake.ts"

const helper = Agent.make("helper", { input: Prompt.Prompt, prompt: (conversation) => conversation })

const unavailable = AiError.make({
  module: "OpenAiCompatible",
  method: "streamText",
  reason: new AiError.InternalProviderError({ description: "HTTP 503 from localhost:11434" })
})

type Routes = ReturnType<typeof Server.layer>
type Users = Layer.Layer<Authentication.Authentication, unknown>

/** Serves on a port until the scope is closed, and returns its address. */
const serve = (routes: Routes, users: Users, port = 0) =>
  HttpRouter.serve(routes, { disableListenLog: true, disableLogger: true }).pipe(
    Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port, host: "127.0.0.1" })),
    Layer.provide(MemoryRuns.layer({ agents: [helper] })),
    Layer.provide([Conversation.layerMemory, users, ScriptedModel.layer([ScriptedModel.failWith(unavailable)])])
  )

const addressOf = (context: Context.Context<HttpServer.HttpServer>) =>
  HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)

const agents = { agents: [{ name: "helper", description: "Helps", tools: [] }] }

/** The text that the body of a refusal has for a person. */
const detailOf = (text: string): string => {
  try {
    return (JSON.parse(text) as { readonly detail: string }).detail
  } catch {
    return text
  }
}

/** The status and the text of a request with other headers. */
const asked = (url: string, headers: Record<string, string>, body?: unknown) =>
  Effect.promise(() =>
    new Promise<string>((resolve, reject) => {
      const method = body === undefined ? "GET" : "POST"
      const path = body === undefined ? "/agents" : "/agents/helper/chat"
      const options = { method, headers: { "content-type": "application/json", ...headers } }
      const sent = request(url + path, options, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (data: string) => text += data)
        response.on("end", () => resolve(`${response.statusCode} ${detailOf(text)}`))
      })
      sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body))
    })
  )

const message = {
  id: "t1",
  trigger: "submit-message",
  messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }] }]
}

const starts = <A, E>(layer: Layer.Layer<A, E>) => Effect.scoped(Effect.exit(Layer.build(layer)))

/** The failure of a second server on the port of a first one. */
const portInUse = (evaluate: Evaluate) =>
  Effect.gen(function*() {
    const users = Authentication.layerAnonymous()
    const first = yield* Layer.build(serve(Server.layer(agents), users))
    const { port } = new URL(addressOf(first))
    const second = serve(Server.layer(agents), users, Number(port))
    const exit = yield* Effect.exit(evaluate<Effect.Effect<never, unknown>>({ served: second }))
    return failureOf(exit).replaceAll(port, "3000")
  }).pipe(Effect.scoped)

const refusesUsers = (evaluate: Evaluate) =>
  Effect.map(
    starts(serve(Server.layer(agents), Layer.unwrap(Effect.sync(() => evaluate<Users>())))),
    (exit) => Exit.isFailure(exit) ? shown(Cause.squash(exit.cause)) : "the server starts"
  )

const refusesRoutes = (evaluate: Evaluate) =>
  Effect.map(starts(serve(evaluate<Routes>(), Authentication.layerAnonymous())), failureOf)

/** The response of a server to a request that reaches it under other headers. */
const answers = (routes: Routes, users: Users, headers: Record<string, string>, body?: unknown) =>
  Effect.gen(function*() {
    const url = addressOf(yield* Layer.build(serve(routes, users)))
    return yield* asked(url, headers, body)
  }).pipe(Effect.scoped)

/** The log of a server whose model is down. */
const logs = (evaluate: Evaluate) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => {
      if (logLevel === "Warn") lines.push(`${logLevel} ${[message].flat().map(String).join(" ").split("\n", 1)[0]}`)
    })
    yield* answers(evaluate<Routes>(), Authentication.layerAnonymous(), {}, message).pipe(
      Effect.provide(Logger.layer([logger]))
    )
    return `the log has ${(lines[0] ?? "no line").replace(/Run \S+/, "Run 8f14e45f")}`
  })

export const servers: ReadonlyArray<Mistake> = [
  {
    when: "Another process has the port",
    wrote: "served.pipe(Server.explained, Layer.launch)",
    observe: portInUse,
    remedy: "End that process, or choose another port. [Serve agents](server.md)"
  },
  {
    when: "The variable is not set",
    wrote:
      "Authentication.layerBearer([{ token: Redacted.make(process.env[\"TOKEN_OF_ADA\"] ?? \"\"), principal: { id: \"ada\" } }])",
    observe: refusesUsers,
    remedy: "Set the variable before the start"
  },
  {
    wrote: "Server.layer({ agents: [], origins: [\"app.example.com\"] })",
    observe: refusesRoutes,
    remedy: "`origins: [\"https://app.example.com\"]`"
  },
  {
    when: "A page of another name asks: `Host: evil.example`",
    wrote: "Authentication.layerAnonymous()",
    observe: (evaluate) => answers(Server.layer(agents), evaluate<Users>(), { host: "evil.example" }),
    remedy: "Authenticate; for a name of your own `hosts`. [Run a service](deploy.md)"
  },
  {
    when: "A proxy replaces `Host`",
    wrote: "Server.layer({ agents })",
    observe: (evaluate) =>
      answers(
        evaluate<Routes>(),
        Authentication.layerAnonymous(),
        { host: "127.0.0.1:3000", origin: "https://app.example.com" },
        message
      ),
    remedy: "`proxy_set_header Host $http_host;`, or `origins`. [Run a service](deploy.md)"
  },
  {
    when: "The model server is down",
    wrote: "Server.layer({ agents })",
    observe: logs,
    remedy: "Read the log; `AgentEvent.layerConsole` shows each step. [Observability](observability.md)"
  }
]
