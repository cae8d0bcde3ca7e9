/** Operators' part of events, and its JSON. */
import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentEvent, Budget, EventJson, Recovery, Tool } from "@recourse/core"
import { Programs, ScriptedModel } from "@recourse/testing"
import { Data, Effect, Option, Schema } from "effect"
import { Prompt } from "effect/ai"

class Down extends Data.TaggedError("Down")<{ readonly host: string }> {}

const Search = Tool.make("search", {
  parameters: Schema.Struct({ query: Schema.String }),
  success: Schema.String,
  effects: "read",
  execute: ({ query }) =>
    query === "down" ? Effect.fail(new Down({ host: "10.0.0.7" })) : Effect.succeed(`found ${query}`)
}).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))

const Ask = Agent.make("clerk", { tools: [Search], instructions: "Look.", defaults: { onError: Recovery.standard } })

const turns = [
  ScriptedModel.call("search", { query: "a" }),
  ScriptedModel.call("search", { query: "down" }),
  ScriptedModel.text("Done.")
]

/** The events of a run, and the requests that the model was sent. */
const ran = (details: boolean) =>
  Effect.gen(function*() {
    const events: Array<AgentEvent.AgentEvent> = []
    yield* Ask.run("Go").pipe(
      Effect.provide(AgentEvent.listen((event) => Effect.sync(() => events.push(event)))),
      Effect.provideService(AgentEvent.Details, details)
    )
    return { events, requests: yield* (yield* ScriptedModel.ScriptedModel).requests }
  }).pipe(Effect.provide(ScriptedModel.layer(turns)))

/** The requests in the events, for each agent's run. */
const told = (events: ReadonlyArray<AgentEvent.AgentEvent>) => {
  const last = new Map<string, ReadonlyArray<Prompt.Message>>()
  return events.flatMap((event) => {
    if (event._tag !== "ModelRequested") return []
    const before = last.get(event.agentRunId) ?? []
    assert.isAtMost(event.kept, before.length)
    const messages = [...before.slice(0, event.kept), ...event.messages.content]
    last.set(event.agentRunId, messages)
    return [messages]
  })
}

describe("events for operators", () => {
  it.effect("have each model request, and each message once", () =>
    Effect.gen(function*() {
      const { events, requests } = yield* ran(true)
      assert.deepStrictEqual(
        told(events).map((messages) => JSON.stringify(messages)),
        requests.map(({ prompt }) => JSON.stringify(prompt.content))
      )
      const requested = events.filter((event) => event._tag === "ModelRequested")
      assert.deepStrictEqual(requested.map(({ kept }) => kept), [0, 2, 4])
      assert.deepStrictEqual(requested.map(({ tools }) => tools), [["search"], ["search"], ["search"]])
    }))

  it.effect("have the cause of a failure, and the caps of an agent", () =>
    Effect.gen(function*() {
      const { events } = yield* ran(true)
      const failed = events.find((event) => event._tag === "ToolAttemptFailed")
      assert.include(failed?.operatorMessage, "Down")
      const started = events.find((event) => event._tag === "RunStarted")
      assert.deepInclude(started?.limits, { turns: 50 })
    }))

  it.effect("list an agent's finite caps, its own before the program's", () =>
    Effect.gen(function*() {
      const limits: Array<unknown> = []
      const hear = AgentEvent.listen((event) =>
        Effect.sync(() => event._tag === "RunStarted" && limits.push(event.limits))
      )
      const agent = Agent.make("a", { budget: { turns: Infinity, toolCalls: undefined, retriesPerTool: 3 } } as never)
      const run = agent.run("x").pipe(
        Effect.provide([hear, ScriptedModel.layer(() => ScriptedModel.text("done"))]),
        Effect.provideService(AgentEvent.Details, true)
      )
      const inherited = { maxDepth: 8, argumentSize: 262_144 }
      const under = (caps: Budget.Budget) => run.pipe(Effect.provide(Budget.layerDefaults(caps)))
      yield* under({ turns: 5, toolCalls: 7, retriesPerTool: 9 })
      yield* under({ turns: 5, toolCalls: 8 })
      yield* under({ toolCalls: Infinity })
      yield* under({ turns: 5, toolCalls: 8 })
      assert.deepStrictEqual(limits, [
        { ...inherited, toolCalls: 7, retriesPerTool: 3 },
        { ...inherited, toolCalls: 8, retriesPerTool: 3 },
        { ...inherited, retriesPerTool: 3 },
        { ...inherited, toolCalls: 8, retriesPerTool: 3 }
      ])
    }))

  it.effect("have the failure of an agent and a run, without interruptions", () =>
    Effect.gen(function*() {
      const told: Array<unknown> = []
      const hear = AgentEvent.listen((event) =>
        Effect.sync(() =>
          "outcome" in event && told.push("operatorMessage" in event ? event.operatorMessage : undefined)
        )
      )
      for (const effect of [Effect.fail(new Down({ host: "10.0.0.7" })), Effect.interrupt, Effect.succeed("x")]) {
        const inner = Agent.fromFunction("inner", (_: string): Effect.Effect<unknown, unknown> => effect)
        yield* Effect.exit(Agent.fromFunction("outer", (text: string) => inner.run(text)).run("x")).pipe(
          Effect.provide(hear),
          Effect.provideService(AgentEvent.Details, true)
        )
      }
      assert.lengthOf(told, 6)
      for (const message of told.slice(0, 2)) assert.include(message, "Down")
      assert.deepStrictEqual(told.slice(2), [undefined, undefined, undefined, undefined])
    }))

  it.effect("say of each run of an agent which caps it has", () =>
    Effect.gen(function*() {
      const limits: Array<unknown> = []
      const hear = AgentEvent.listen((event) =>
        Effect.sync(() => event._tag === "RunStarted" && limits.push(event.limits))
      )
      const all = Agent.all("all", [Agent.fromFunction("a", Effect.succeed<string>)])
      const run = all.run("x").pipe(Effect.provide(hear), Effect.provideService(AgentEvent.Details, true))
      yield* Effect.andThen(run, run)
      assert.deepStrictEqual(limits, [{}, {}])
    }))

  it.effect("omit the details by default", () =>
    Effect.gen(function*() {
      const { events } = yield* ran(false)
      assert.deepStrictEqual(told(events), [])
      const text = JSON.stringify(events.map(EventJson.encode))
      assert.notInclude(text, "operatorMessage")
      assert.notInclude(text, "limits")
    }))
})

describe("events as JSON", () => {
  it.effect("are the same events when they are read, whatever a program did", () =>
    Effect.gen(function*() {
      let count = 0
      const unread: Array<string> = []
      yield* Programs.check({
        runs: 30,
        seed: 18,
        laws: [],
        more: {
          read: ({ interrupted, plain, streamed }) => {
            for (const { events } of [plain, streamed, interrupted]) {
              for (const event of events) {
                count++
                const json = EventJson.encode(event)
                const read = EventJson.decode(JSON.parse(JSON.stringify(json)))
                if (Option.isNone(read) || !isDeepStrictEqual(EventJson.encode(read.value), json)) {
                  unread.push(event._tag)
                }
              }
            }
            return []
          }
        }
      })
      assert.isAbove(count, 300)
      assert.deepStrictEqual(unread, [])
    }))

  const common = { runId: "r", agentRunId: "r", path: ["a"], sequence: 0, at: 1 }
  const cycle: Record<string, unknown> = {}
  cycle["self"] = cycle

  it("are there, whatever an input, an output and a result are", () => {
    for (const odd of [10n, () => 1, cycle, new Map([[1, 2]]), Symbol("s"), Number.NaN, undefined]) {
      const started = {
        _tag: "RunStarted",
        version: AgentEvent.version,
        resumed: false,
        ...common,
        input: odd
      } as const
      assert.deepInclude(EventJson.encode(started as AgentEvent.AgentEvent), { _tag: "RunStarted", input: null })
      const result = { _tag: "ToolResult", ...common, callId: "c", tool: "t", isFailure: false, result: odd } as const
      assert.deepInclude(EventJson.encode(result as AgentEvent.AgentEvent), { callId: "c", result: null })
    }
  })

  it("hold a conversation that is an input as its schema says", () => {
    const input = Prompt.make("hi")
    const started = { _tag: "RunStarted", version: AgentEvent.version, resumed: false, ...common, input } as const
    const json = EventJson.encode(started) as { readonly input: Schema.Json }
    assert.deepStrictEqual(Schema.decodeUnknownSync(Schema.toCodecJson(Prompt.Prompt))(json.input), input)
  })
})
