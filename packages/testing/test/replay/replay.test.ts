import { assert, describe, it } from "@effect/vitest"
import { FaultPlan, Faults, Replay, ScriptedModel, SideEffects, Subject, VirtualTime } from "@recourse/testing"
import { Data, Effect, Exit, Layer, Option, Random, Schedule, Schema } from "effect"
import { Agent, ErrorProjection, Recovery, Redaction, Tool, ToolCall, type ToolError } from "@recourse/core"
import * as office from "../support/office.ts"
import * as shop from "../support/shop.ts"

/** Records a run of a subject under faults. */
const record = <Out, E>(subject: Subject.Subject<string, Out, E>, plan: FaultPlan.FaultPlan, streaming = false) =>
  Effect.gen(function*() {
    const { input, model } = subject.scenarios["default"]!
    const services = Layer.merge(
      Faults.layer(plan).pipe(Layer.provide(ScriptedModel.layer(model))),
      Subject.layer
    )
    const { exit } = yield* VirtualTime.run(
      Replay.record(subject.agent, input, { streaming, tools: subject.tools }).pipe(
        Effect.provide(services),
        Random.withSeed(plan.seed)
      )
    )
    return Exit.getSuccess(exit).pipe(Option.getOrThrow)
  })

/** A world that must stay unchanged. */
const untouched = Layer.merge(
  Subject.layer,
  Layer.succeed(SideEffects.SideEffects, {
    perform: () => Effect.die(new Error("A replay has side effects")),
    request: () => Effect.die(new Error("A replay has side effects")),
    all: Effect.succeed([])
  })
)

const faults: ReadonlyArray<FaultPlan.ToolFault> = [
  { type: "failure", error: { _tag: "OutOfStock", sku: "a" } },
  { type: "timeout" },
  { type: "timeout_after_commit" },
  { type: "delay", millis: 1200 },
  { type: "network_error" },
  { type: "malformed_arguments" },
  { type: "prompt_injection" },
  { type: "partial_success" }
]

class SoldOut extends Schema.TaggedError<SoldOut>()(
  "SoldOut",
  { article: Schema.String, until: Schema.Date },
  ErrorProjection.declare<{ readonly article: string; readonly until: Date }>({
    code: "sold_out",
    model: ({ article, until }) => `${article} is sold out until ${until.getUTCFullYear()}.`
  })
) {}

describe("a replay of the same program", () => {
  it.effect("reports the declared part of an error by the failure schema", () =>
    Effect.gen(function*() {
      const Buy = Tool.make("buy", {
        success: Schema.String,
        failure: SoldOut,
        effects: "read",
        execute: (): Effect.Effect<string, SoldOut> =>
          Effect.fail(new SoldOut({ article: "tea", until: new Date("2031-05-01T00:00:00Z") }))
      }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
      const agent = Agent.make("shop", { tools: [Buy] })
      const { recording } = yield* Replay.record(agent, "Tea, please", { tools: [Buy] }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("buy", {}), ScriptedModel.text("No tea.")]))
      )
      const stored = yield* Effect.flatMap(Replay.stringify(recording), Replay.parse)
      const replayed = yield* Replay.run(agent, stored, { tools: [Buy] })
      assert.deepStrictEqual(replayed.difference, Option.none())
      const told = replayed.events.flatMap((event) => event._tag === "ToolResult" ? [event.result] : [])
      assert.deepInclude(told[0], { code: "sold_out", message_for_model: "tea is sold out until 2031." })
    }))

  for (const [name, subject] of [["shop", shop.subject], ["office", office.subject]] as const) {
    it.effect(`goes the same way, whatever went wrong: ${name}`, () =>
      Effect.gen(function*() {
        const tools = subject.tools.map((tool) => tool.name)
        for (let seed = 0; seed < 60; seed++) {
          const plan = FaultPlan.make([
            FaultPlan.onTool(tools[seed % tools.length]!, faults[seed % faults.length]!, {
              times: 5,
              probability: 0.6
            }),
            FaultPlan.onModel(
              seed % 2 === 0 ? { type: "rate_limit", retryAfter: 700 } : { type: "unknown_tool" },
              { times: 5, probability: 0.3 }
            )
          ], { seed })
          const { exit, recording } = yield* record(subject, plan, seed % 3 === 0)
          const stored = yield* Effect.flatMap(Replay.stringify(recording), Replay.parse)
          const replayed = yield* Replay.run(subject.agent, stored, { tools: subject.tools }).pipe(
            Effect.provide(untouched)
          )
          const difference = Option.getOrUndefined(replayed.difference)
          assert.strictEqual(
            difference === undefined ? "" : Replay.print(difference),
            "",
            FaultPlan.print(plan)
          )
          assert.strictEqual(replayed.exit._tag, exit._tag)
          assert.strictEqual(replayed.events.length, recording.events.length)
        }
      }))
  }
})

describe("a replay of another program", () => {
  const search = FaultPlan.make([FaultPlan.onTool("search", { type: "network_error" })])
  const changed = <Handles extends string>(
    onError: Recovery.RecoveryPolicy<Handles, never, never>,
    instructions?: string
  ) =>
    Agent.make("shop", {
      instructions,
      tools: shop.tools,
      defaults: { onError },
      budget: shop.budget
    })

  it.effect("shows the first thing that the model is sent otherwise", () =>
    Effect.gen(function*() {
      const { recording } = yield* record(shop.subject, search)
      const { difference } = yield* Replay.run(changed(Recovery.policy({ ExecutionError: "escalate" })), recording, {
        tools: shop.tools
      }).pipe(Effect.provide(untouched))
      const found = Option.getOrThrow(difference)
      assert.deepStrictEqual([found.kind, found.index], ["request", 1])
      assert.include(JSON.stringify(found.recorded), "Results for teapot")
      assert.include(JSON.stringify(found.replayed), "execution_error")
      assert.match(Replay.print(found), /^The model is sent something else in call 2/)

      const prompt = yield* Replay.run(
        changed(Recovery.policy({ ExecutionError: "escalate" }), "Be polite."),
        recording,
        {
          tools: shop.tools
        }
      ).pipe(Effect.provide(untouched))
      assert.strictEqual(Option.getOrThrow(prompt.difference).index, 0)
    }))

  it.effect("shows the first other event, when the model sees no difference", () =>
    Effect.gen(function*() {
      const { recording } = yield* record(shop.subject, search)
      const { difference, exit } = yield* Replay.run(
        changed(Recovery.policy({
          ExecutionError: { retry: { times: 1, schedule: Schedule.forever }, otherwise: "escalate" },
          Timeout: "escalate",
          OutcomeUnknown: "escalate"
        })),
        recording,
        { tools: shop.tools }
      ).pipe(Effect.provide(untouched))
      // The same but for the delay, which is not compared.
      assert.deepStrictEqual([difference, exit], [Option.none(), Exit.succeed("It is on its way.")])

      const fallen = yield* Replay.run(
        Agent.make("shop", {
          tools: [
            Tool.make("search", {
              parameters: shop.Search.parameters,
              success: shop.Search.success,
              effects: "read",
              execute: () => Effect.succeed({ page: "", hits: [] })
            }).pipe(Tool.onError((call) => Effect.retry(call, { times: 1 }))),
            shop.Order
          ],
          budget: shop.budget
        }),
        recording,
        { tools: shop.tools }
      ).pipe(Effect.provide(untouched))
      const found = Option.getOrThrow(fallen.difference)
      assert.strictEqual(found.kind, "event")
      assert.deepInclude(found.recorded, { _tag: "ToolRetry" })
      assert.deepInclude(found.replayed, { _tag: "ToolAttempt", attempt: 2 })
    }))

  it.effect("reruns agents as tools, and values beyond JSON by schema", () =>
    Effect.gen(function*() {
      const now = new Date(0)
      const Today = Tool.make("today", {
        success: Schema.Struct({ date: Schema.Date }),
        effects: "read",
        execute: () => Effect.succeed({ date: now })
      })
      const inner = Agent.fromFunction("inner", (_: {}) => Effect.succeed("inner answer"))
      const Inner = inner.pipe(
        Agent.asTool("inner", { description: "asks", parameters: Schema.Struct({}), success: Schema.String })
      )
      const agent = Agent.make("outer", { tools: [Today, Inner], defaults: { onError: Recovery.standard } })
      const { recording } = yield* Replay.record(agent, "x", { tools: [Today, Inner] }).pipe(
        Effect.provide(
          ScriptedModel.layer([
            ScriptedModel.calls([{ name: "today", params: {} }, { name: "inner", params: {} }]),
            ScriptedModel.text("done")
          ])
        )
      )
      const stored = yield* Effect.flatMap(Replay.stringify(recording), Replay.parse)
      const { difference, exit } = yield* Replay.run(agent, stored, { tools: [Today, Inner] })
      assert.deepStrictEqual([difference, exit], [Option.none(), Exit.succeed("done")])
    }))

  it.effect("repeats executors' library errors", () =>
    Effect.gen(function*() {
      const Send = Tool.make("send", {
        parameters: Schema.Struct({ how: Schema.Literals(["partly", "later", "not"]) }),
        effects: "write",
        execute: (
          { how }
        ): Effect.Effect<
          void,
          ToolError.Escalation | ToolError.PartialSuccess | ToolError.Pending,
          ToolCall.ToolCall
        > =>
          how === "partly"
            ? ToolCall.partial({ succeeded: ["a"], failed: [{ item: "b", code: "full", reason: "The box is full" }] })
            : how === "later"
            ? ToolCall.pending("task-1", { retryAfter: "5 seconds" })
            : ToolCall.escalate({ reason: "Not today", code: "closed" })
      })
      const agent = Agent.make("sender", { tools: [Send], defaults: { onError: Recovery.standard } })
      const calls = ["partly", "later", "not"].map((how) => ({ name: "send", params: { how } }))
      const { recording } = yield* Replay.record(agent, "x", { tools: [Send] }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.calls(calls), ScriptedModel.text("done")]))
      )
      const codes = recording.events.flatMap((event) => event._tag === "ToolResult" ? [event.code] : [])
      assert.deepStrictEqual(codes, ["partial_success", undefined, "closed"])
      const stored = yield* Effect.flatMap(Replay.stringify(recording), Replay.parse)
      const { difference, exit } = yield* Replay.run(agent, stored, { tools: [Send] })
      assert.deepStrictEqual([difference, exit], [Option.none(), Exit.succeed("done")])
    }))

  it.effect("is refused if it is no recording", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(Replay.parse("{\"agent\":\"x\"}")))._tag, "SchemaError")
    }))
})

describe("executors' errors in a recording", () => {
  class Down
    extends Data.TaggedError("Down")<{ readonly url: string; readonly password: string; readonly at: string }>
  {}
  const url = "postgres://root:hunter2@10.0.0.7/crm"
  const tool = (failing: Effect.Effect<never, Down>) => Tool.make("find", { effects: "read", execute: () => failing })
  const recorded = (failing: Effect.Effect<never, Down>, raw?: boolean) => {
    const find = tool(failing)
    const agent = Agent.make("a", { tools: [find], defaults: { onError: Recovery.standard } })
    return Replay.record(agent, "go", { tools: [find], ...(raw === true ? { redact: false } : undefined) }).pipe(
      Effect.flatMap(({ recording }) => Replay.stringify(recording)),
      Effect.provide(ScriptedModel.layer([ScriptedModel.call("find", {}), ScriptedModel.text("ok")]))
    )
  }
  const error = new Down({ url, password: "correct-horse-7", at: "/srv/data/report.csv" })

  it.effect("is redacted, unless it is asked for as it is", () =>
    Effect.gen(function*() {
      for (const failing of [Effect.fail(error), Effect.die(new Error(`cannot reach ${url}`))]) {
        const text = yield* recorded(failing)
        assert.notInclude(text, "hunter2")
        assert.notInclude(text, "correct-horse-7")
      }
      assert.include(yield* recorded(Effect.fail(error), true), "hunter2")
      assert.include(yield* recorded(Effect.fail(error)), "/srv/data/report.csv")
    }))

  it.effect("pass the rules for secrets, in addition to the program's redactor", () =>
    Effect.gen(function*() {
      const own = Redaction.layer(Redaction.make({ rules: [{ kind: "path", pattern: /srv/g }] }))
      const text = yield* Effect.provide(recorded(Effect.fail(error)), own)
      assert.notInclude(text, "hunter2")
      assert.include(text, "/[redacted: path]/data")
    }))
})
