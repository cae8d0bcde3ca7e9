/** Saved runs: recorded failures are faults of the test kit, and the run fails the same way without its service. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentEvent, Conversation, EventJson, Recovery, Tool } from "@recourse/core"
import { FaultPlan, Faults, ScriptedModel } from "@recourse/testing"
import { Data, Effect, Exit, Layer, Option, Schema } from "effect"
import { failingTestOf, faultsOf, planOf } from "../web/studio/savedRun.ts"
import { differenceOf, messageChanges } from "../web/studio/requestDiff.ts"
import { highlight } from "../web/shared/highlight.ts"

class Down extends Data.TaggedError("Down") {}

const agentOf = (execute: () => Effect.Effect<string, Down>) =>
  Agent.make("desk", {
    tools: [Tool.make("rate", { success: Schema.String, effects: "read", execute })],
    defaults: { onError: Recovery.policy({ ExecutionError: { retry: { times: 1 }, otherwise: "escalate" } }) }
  })

const turns = [ScriptedModel.call("rate", {}), ScriptedModel.call("rate", {}), ScriptedModel.text("No rate today.")]

const recorded = <A, E>(run: Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    const events: Array<AgentEvent.AgentEvent> = []
    yield* Effect.exit(run).pipe(
      Effect.provide(AgentEvent.listen((event) => Effect.sync(() => void events.push(event)))),
      Effect.provideService(AgentEvent.Details, true)
    )
    const log = events.map((event) => `${JSON.stringify(EventJson.encode(event))}\n`).join("")
    return { log, tags: events.flatMap((event) => "tool" in event ? [`${event._tag} ${event.tool}`] : []) }
  })

describe("a fault plan of a saved run", () => {
  it.live("has the failures of its tools, and reproduces them without the service", () =>
    Effect.gen(function*() {
      let calls = 0
      const flaky = agentOf(() => ++calls === 2 ? Effect.succeed("1.1") : Effect.fail(new Down()))
      const first = yield* recorded(flaky.run("Go").pipe(Effect.provide(ScriptedModel.layer(turns))))
      const faults = faultsOf(first.log)
      assert.deepStrictEqual(faults, [
        { tool: "rate", fault: { type: "failure", error: { _tag: "Down" } }, from: 1 },
        { tool: "rate", fault: { type: "failure", error: { _tag: "Down" } }, from: 3 },
        { tool: "rate", fault: { type: "failure", error: { _tag: "Down" } }, from: 4 }
      ])
      const plan = yield* FaultPlan.parse(planOf(faults))
      const healthy = agentOf(() => Effect.succeed("1.1"))
      const again = yield* recorded(
        healthy.run("Go").pipe(Effect.provide(Faults.layer(plan).pipe(Layer.provideMerge(ScriptedModel.layer(turns)))))
      )
      assert.deepStrictEqual(again.tags, first.tags)
      // The saved test itself: plain JavaScript, with its modules given.
      let done: Promise<void> | undefined
      const files = { "./r1.faults.json": planOf(faults), "./r1.jsonl": first.log }
      const given = {
        Conversation,
        FaultPlan,
        Faults,
        ScriptedModel,
        Effect,
        Exit,
        Layer,
        Option,
        assert,
        agent: healthy,
        it: (_: string, test: () => Promise<void>) => done = test(),
        readFileSync: (name: keyof typeof files) => files[name],
        URL: function(name: string) {
          return Object(name)
        }
      }
      const code = failingTestOf("r1", "desk").replaceAll(/^import .*$|: string(?=\))/gm, "").replaceAll(
        "import.meta.url",
        "\"\""
      )
      // oxlint-disable-next-line no-new-func -- the text of the saved file is what is tested
      new Function(...Object.keys(given), code)(...Object.values(given))
      yield* Effect.promise(() => done!)
    }))

  it.live("has the failures of its model", () =>
    Effect.gen(function*() {
      const agent = Agent.make("desk", { tools: [] })
      const plan = FaultPlan.make([FaultPlan.onModel({ type: "rate_limit" })])
      const first = yield* recorded(
        agent.run("Go").pipe(
          Effect.provide(Faults.layer(plan).pipe(Layer.provideMerge(ScriptedModel.layer([ScriptedModel.text("Hi")]))))
        )
      )
      assert.deepStrictEqual(faultsOf(first.log), [
        { fault: { type: "model_error", reason: "RateLimitError" }, from: 1 }
      ])
      assert.include(failingTestOf("run/1", "desk"), "\"./run_1\" + ending")
    }))
})

describe("the difference of two requests", () => {
  it("has each message that is gone or new, and the lines of one that changed", () => {
    const user = (content: string) => ({ role: "user", content })
    const changes = messageChanges(
      [user("a"), user("one\ntwo"), user("gone"), { role: "assistant", content: "x" }],
      [user("a"), user("one\n2"), { role: "assistant", content: "x" }, user("last")]
    )
    assert.deepStrictEqual(changes.map(({ change, role }) => `${change} ${role}`), [
      "same user",
      "gone user",
      "changed user",
      "same assistant",
      "new user"
    ])
    const [first, second] = [["a", "b", "c", "d"], ["b", "x", "d", "e"]]
    assert.deepStrictEqual(
      differenceOf(first!, second!, (value) => value).map(({ change, value }) => `${change} ${value}`),
      ["gone a", "same b", "gone c", "new x", "same d", "new e"]
    )
  })
})

describe("coloured code", () => {
  it("coloured code has the code, piece by piece", () => {
    const samples = [
      ["ts", "const a = `x${1}` // <script>alert(1)</script>\nfunction f() { return 'it' }"],
      ["python", "def f(x):\n  # note\n  return \"a\" + str(1.5e3)"],
      ["sql", "SELECT a FROM t WHERE b = 'it''s' -- end"],
      ["json", "{\"a\": [1, true, null]}"],
      ["unknown", "<b>if</b>"],
      ["ts", "\"unclosed\n/* open"]
    ] as const
    for (const [language, code] of samples) {
      assert.strictEqual(highlight(code, language).map(({ text }) => text).join(""), code)
    }
    assert.deepStrictEqual(highlight("if (x) 1", "js").map(({ look, text }) => `${look}:${text}`), [
      "word:if",
      "plain: (x) ",
      "number:1"
    ])
    assert.deepStrictEqual(highlight("if", "unknown"), [{ look: "plain", text: "if" }])
  })
})
