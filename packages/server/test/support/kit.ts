/** A served agent with a scripted model: real HTTP on loopback. */
import { NodeHttpServer } from "@effect/platform-node"
import { Agent, Approval, Conversation, Recovery, Runs, Tool } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Context, Data, Deferred, type Duration, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { Prompt } from "effect/ai"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"

class Down extends Data.TaggedError("Down") {}

const escalate = Recovery.escalate("ExecutionError", "InvalidArgs")

/** Executions of tools, and a gate for the slow one. */
export interface World {
  readonly deeds: Array<string>
  readonly gate: Deferred.Deferred<void>
}

const clerk = ({ deeds, gate }: World) => {
  let failures = 0
  const Search = Tool.make("search", {
    parameters: Schema.Struct({ query: Schema.String }),
    success: Schema.Struct({ found: Schema.String }),
    effects: "read",
    execute: ({ query }) =>
      Effect.suspend(() => {
        deeds.push(`search ${query}`)
        if (query === "down") return Effect.fail(new Down())
        return query === "flaky" && failures++ === 0 ? Effect.fail(new Down()) : Effect.succeed({ found: query })
      })
  }).pipe(Tool.onError((call) => call.pipe(Recovery.retry({ times: 1, schedule: Schedule.forever }), escalate)))
  const Pay = Tool.make("pay", {
    parameters: Schema.Struct({ amount: Schema.Number }),
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: ({ amount }) =>
      Effect.sync(() => {
        deeds.push(`pay ${amount}`)
        return `paid ${amount}`
      })
  })
  const Slow = Tool.make("slow", {
    success: Schema.String,
    effects: "write",
    execute: () =>
      Effect.andThen(
        Deferred.await(gate),
        Effect.sync(() => {
          deeds.push("slow")
          return "done"
        })
      )
  })
  const Fax = Tool.make("fax", {
    parameters: Schema.Struct({ to: Schema.String }),
    effects: "write",
    timeout: "20 millis",
    execute: ({ to }) => Effect.andThen(Effect.sync(() => deeds.push(`fax ${to}`)), Effect.never)
  })
  const Book = Tool.make("book", {
    parameters: Schema.Struct({ room: Schema.String }),
    success: Schema.String,
    effects: "write",
    execute: ({ room }) => Effect.sync(() => (deeds.push(`book ${room}`), `code of ${room}`)),
    compensate: ({ room }) =>
      room === "down" ? Effect.fail(new Down()) : Effect.sync(() => void deeds.push(`cancel ${room}`))
  })
  return Agent.make("clerk", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [Search, Pay, Slow, Fax, Book],
    defaults: { onError: Recovery.standard }
  })
}

/** People with a token each: one who may not decide, operators with and without the right to decide, one of another agent. */
const authentication = Authentication.layerBearer([
  { token: Redacted.make("token-of-ada"), principal: { id: "ada" } },
  { token: Redacted.make("token-of-bob"), principal: { id: "bob", rights: ["chat"] } },
  { token: Redacted.make("token-of-olga"), principal: { id: "olga", rights: ["operate", "decide"] } },
  { token: Redacted.make("token-of-otto"), principal: { id: "otto", rights: ["operate"] } },
  { token: Redacted.make("token-of-else"), principal: { id: "else", rights: ["operate"], agents: ["another"] } }
])

/** People with a token. */
export type Who = "ada" | "bob" | "olga" | "otto" | "else"

export const headersOf = (who: Who) => ({ authorization: `Bearer token-of-${who}` })

export interface Options {
  readonly server?: Partial<Server.Options>
  readonly gracePeriod?: Duration.Input
  /** Other runs than those in memory. */
  readonly runs?: (
    agent: ReturnType<typeof clerk>
  ) => Layer.Layer<Runs.Runs, unknown, Agent.Services<ReturnType<typeof clerk>>>
  readonly conversations?: Layer.Layer<Conversation.Conversations>
  /** Wrapper of the serving layer. */
  readonly around?: <A, E, R>(served: Layer.Layer<A, E, R>) => Layer.Layer<A, E, R>
}

/** A server, until the scope is closed. */
export const serve = (turns: Iterable<ScriptedModel.Turn> | ScriptedModel.Behaviour, options?: Options) =>
  Effect.gen(function*() {
    const world: World = { deeds: [], gate: Deferred.makeUnsafe() }
    const card = { name: "clerk", description: "Helps", tools: [{ name: "search", description: "Finds" }] }
    const app = HttpRouter.serve(Server.layer({ agents: [card], ...options?.server }), {
      disableListenLog: true,
      disableLogger: true
    })
    const layer = (options?.around?.(app) ?? app).pipe(
      Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
      Layer.provideMerge(
        options?.runs?.(clerk(world)) ?? MemoryRuns.layer({ agents: [clerk(world)], gracePeriod: options?.gracePeriod })
      ),
      Layer.provide([
        authentication,
        Approval.layerKey(Redacted.make("a key of the server's tests with 32 bytes or more"))
      ]),
      Layer.provideMerge(options?.conversations ?? Conversation.layerMemory),
      Layer.provideMerge(ScriptedModel.layer(turns))
    )
    const context = yield* Layer.build(layer)
    const url = HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)
    const model = Context.get(context, ScriptedModel.ScriptedModel)
    const get = (path: string, who: Who = "ada") =>
      Effect.promise(async () => {
        const response = await fetch(url + path, { headers: headersOf(who) })
        const text = await response.text()
        return { status: response.status, text, json: () => JSON.parse(text) as never }
      })
    const post = (
      path: string,
      body: unknown,
      init?: { readonly headers?: Record<string, string>; readonly who?: Who }
    ) =>
      Effect.promise(async () => {
        const response = await fetch(url + path, {
          method: "POST",
          headers: { "content-type": "application/json", ...headersOf(init?.who ?? "ada"), ...init?.headers },
          body: typeof body === "string" ? body : JSON.stringify(body)
        })
        const text = await response.text()
        return { status: response.status, text, headers: response.headers, json: () => JSON.parse(text) as never }
      })
    return {
      url,
      world,
      model,
      get,
      post,
      open: Deferred.succeed(world.gate, undefined),
      runs: Context.get(context, Runs.Runs),
      conversations: Context.get(context, Conversation.Conversations)
    }
  })
