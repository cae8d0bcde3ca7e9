/**
 * Handoff, best of n, votes, revisions and routes: each model's next prompt, and the effect of failed parts on the
 * whole.
 */
import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel } from "@recourse/testing"
import { Agent, AgentError, Approval, ConfigurationError, Quarantine, Recovery, Tool, ToolError } from "@recourse/core"
import { Data, Effect, Exit, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"

class No extends Data.TaggedError("No")<{ readonly n: number }> {}

const requests = Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)
const given = (...turns: ReadonlyArray<ScriptedModel.Turn>) => Effect.provide(ScriptedModel.layer(turns))
const conversation = { input: Prompt.Prompt, prompt: (conversation: Prompt.Prompt) => conversation }
const texts = (prompt: Prompt.Prompt) =>
  prompt.content.map(({ content, role }) =>
    `${role}: ${typeof content === "string" ? content : content.map((part) => "text" in part ? part.text : part.type)}`
  )

describe("handoff", () => {
  const ToBilling = Agent.handoffTo("billing", { description: "Bills" })
  const ToTriage = Agent.handoffTo("triage", { description: "All else" })
  const Look = Tool.make("look", {
    effects: "read",
    trust: "untrusted",
    success: Schema.String,
    execute: () => Effect.succeed("bill 7")
  })
  const triage = Agent.make("triage", {
    ...conversation,
    instructions: "You are triage.",
    tools: [ToBilling, Look],
    defaults: { onError: Recovery.standard }
  })
  const billing = Agent.make("billing", {
    ...conversation,
    instructions: "You are billing.",
    tools: [ToTriage],
    defaults: { onError: Recovery.standard }
  })
  const support = Agent.handoff("support", { start: "triage", agents: { triage, billing }, times: 2 })
  const withKey = Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32))))

  it.effect("the next agent reads all messages with its own instructions", () =>
    Effect.gen(function*() {
      const system = Prompt.systemMessage({ content: "The customer is Ada." })
      const { exit, taintedBy, usage } = yield* support.report(
        Prompt.fromMessages([system, ...Prompt.make("My bill").content])
      )
      assert.deepStrictEqual(exit, Exit.succeed("Corrected."))
      const [, , last] = yield* requests
      assert.deepStrictEqual(texts(last!.prompt), [
        "system: You are billing.",
        "system: The customer is Ada.",
        "user: My bill",
        "assistant: tool-call",
        "tool: tool-result",
        "user: Note of the agent before, which was written by a model and not by the user: bill 7 is wrong"
      ])
      assert.deepStrictEqual(Laws.problemsOfHistory(last!.prompt), [])
      assert.notInclude(JSON.stringify(last!.prompt), "transfer_to_billing")
      assert.deepStrictEqual(Quarantine.taintedBy(last!.prompt), ["look"])
      assert.deepStrictEqual(taintedBy, ["look"])
      assert.strictEqual(usage.turns, 3)
    }).pipe(
      withKey,
      given(
        ScriptedModel.call("look", {}),
        ScriptedModel.call("transfer_to_billing", { note: "bill 7 is wrong" }),
        ScriptedModel.text("Corrected.")
      )
    ))

  it.effect("a conversation passed back and forth ends with an untaken transfer", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(support.run(Prompt.make("x")))
      assert.instanceOf(error, ToolError.ExecutionError)
      assert.instanceOf((error as ToolError.ExecutionError<unknown>).reason, Agent.HandedOff)
      assert.strictEqual((yield* requests).length, 3)
    }).pipe(
      withKey,
      given(
        ScriptedModel.call("transfer_to_billing", {}),
        ScriptedModel.call("transfer_to_triage", {}),
        ScriptedModel.call("transfer_to_billing", {})
      )
    ))

  it.effect("other failures are the run's, and an unknown name is reported", () =>
    Effect.gen(function*() {
      const failed = yield* Effect.flip(
        support.run(Prompt.make("x")).pipe(given(ScriptedModel.failure("UnknownError")))
      )
      assert.strictEqual(failed._tag, "AiError")
      assert.throws(
        () => Agent.handoff("x", { start: "gone" as never, agents: { triage } }),
        ConfigurationError.ConfigurationError
      )
      const alone = Agent.handoff("alone", { start: "triage", agents: { triage } })
      const exit = yield* Effect.exit(
        alone.run(Prompt.make("x")).pipe(given(ScriptedModel.call("transfer_to_billing", {})))
      )
      assert.include(String(exit), "billing")
    }).pipe(withKey))
})

describe("bestOf", () => {
  const some = (fails: ReadonlyArray<number>) => {
    let runs = 0
    return Agent.fromFunction("some", (_: string): Effect.Effect<number, No> =>
      Effect.suspend(() => {
        const n = runs++
        return fails.includes(n) ? Effect.fail(new No({ n })) : Effect.succeed(n * 10)
      }))
  }
  const judgeInto = (judged: Array<Agent.Candidates<string, number>>) => (best: number) =>
    Agent.fromFunction("judge", (candidates: Agent.Candidates<string, number>) =>
      Effect.sync(() => {
        judged.push(candidates)
        return best
      }))

  it.effect("answers with the judge's choice among successful runs", () =>
    Effect.gen(function*() {
      const judged: Array<Agent.Candidates<string, number>> = []
      const judge = judgeInto(judged)
      assert.strictEqual(yield* Agent.bestOf(some([1]), { n: 3, judge: judge(1) }).run("x"), 20)
      assert.deepStrictEqual(judged.splice(0), [{ input: "x", answers: [0, 20] }])
      assert.strictEqual(yield* Agent.bestOf(some([0, 1]), { n: 3, judge: judge(7) }).run("x"), 20)
      assert.deepStrictEqual(judged, [], "a single answer is not judged")
      const failed = yield* Effect.flip(Agent.bestOf(some([0, 1]), { n: 2, judge: judge(0) }).run("x"))
      assert.strictEqual(failed._tag, "No")
      for (const best of [2, -1, 0.5, Number.NaN]) {
        const error = yield* Effect.flip(Agent.bestOf(some([]), { n: 2, judge: judge(best) }).run("x"))
        assert.instanceOf(error, AgentError.InvalidOutput)
      }
      assert.throws(() => Agent.bestOf(some([]), { n: 0, judge: judge(0) }), ConfigurationError.ConfigurationError)
    }))

  it.effect("a judge that is a model reads input and answers", () =>
    Effect.gen(function*() {
      const model = Agent.make("judge", {
        input: Schema.Struct({ input: Schema.String, answers: Schema.Array(Schema.Number) }),
        output: Schema.Int
      })
      assert.strictEqual(yield* Agent.bestOf(some([]), { n: 2, judge: model }).run("x"), 10)
      assert.include(JSON.stringify((yield* requests)[0]!.prompt), "[0,10]")
    }).pipe(given(ScriptedModel.text("1"))))
})

describe("vote", () => {
  it.effect("answers with the most frequent answer, ignoring failures", () =>
    Effect.gen(function*() {
      const saying = (...answers: ReadonlyArray<unknown>) => {
        let runs = 0
        return Agent.fromFunction("a", (_: string): Effect.Effect<unknown, No> =>
          Effect.suspend(() => {
            const answer = answers[runs++]
            return answer instanceof No ? Effect.fail(answer) : Effect.succeed(answer)
          }))
      }
      assert.deepStrictEqual(yield* saying({ a: 1, b: 2 }, 3, { b: 2, a: 1 }).pipe(Agent.vote(3)).run("x"), {
        a: 1,
        b: 2
      })
      assert.strictEqual(yield* saying("p", "q").pipe(Agent.vote(2)).run("x"), "p")
      assert.strictEqual(yield* saying(new No({ n: 0 }), undefined, "q", "q").pipe(Agent.vote(4)).run("x"), "q")
      assert.strictEqual(yield* saying(undefined).pipe(Agent.vote(1)).run("x"), undefined)
      const failed = yield* Effect.flip(saying(new No({ n: 1 }), new No({ n: 2 })).pipe(Agent.vote(2)).run("x"))
      assert.strictEqual(failed._tag, "No")
    }))
})

describe("revise, loopUntil and route", () => {
  const echo = Agent.fromFunction("echo", (text: string) => Effect.succeed(`${text}!`))

  it.effect("revise uses the judge's feedback, and stops at its limit", () =>
    Effect.gen(function*() {
      const asked: Array<readonly [string, string]> = []
      const revised = (times: number) =>
        Agent.revise(echo, {
          times,
          judge: (output, input) => {
            asked.push([output, input])
            return output.length > 4 ? undefined : `${output}?`
          }
        })
      assert.strictEqual(yield* revised(9).run("a"), "a!?!?!")
      assert.deepStrictEqual(asked.splice(0), [["a!", "a"], ["a!?!", "a!?"], ["a!?!?!", "a!?!?"]])
      assert.strictEqual(yield* revised(2).run("a"), "a!?!")
      assert.strictEqual(asked.length, 1, "the last answer is not judged")
      const failing = Agent.revise(echo, { times: 3, judge: () => Effect.fail(new No({ n: 1 })) })
      assert.strictEqual((yield* Effect.flip(failing.run("a")))._tag, "No")
    }))

  it.effect("loopUntil takes a predicate that is an Effect", () =>
    Effect.gen(function*() {
      const long = Agent.fromFunction("long", (text: string) => Effect.succeed(text.length > 3))
      assert.strictEqual(yield* echo.pipe(Agent.loopUntil((text) => long.run(text), { times: 9 })).run("a"), "a!!!")
    }))

  it.effect("route runs the agent that is named, and no other", () =>
    Effect.gen(function*() {
      const routed = Agent.route("r", (text: string) =>
        text.length > 1 ? "long" as const : Effect.fail(new No({ n: 0 })), {
        long: echo,
        short: Agent.fromFunction("short", (_: string) =>
          Effect.die("must not run"))
      })
      assert.strictEqual(yield* routed.run("ab"), "ab!")
      assert.strictEqual((yield* Effect.flip(routed.run("a")))._tag, "No")
      const wrong = Agent.route("r", (_: string) =>
        "toString" as never, { long: echo })
      assert.include(String(yield* Effect.exit(wrong.run("x"))), "toString")
    }))
})
