/** Rules of agents made of agents: their state over a pause, their accepted decisions, and their refusals. */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Clock, Effect, Exit, Layer, Schema } from "effect"
import { type LanguageModel, Prompt } from "effect/ai"
import { Agent, Approval, ConfigurationError, Recovery, Tool } from "@recourse/core"
import { collect } from "../support/kit.ts"
import { Refund } from "../support/refundTools.ts"
import { clerk, key, model, paused, refund, says, stored } from "../support/agentsOverPause.ts"

type Within = Agent.Agent<string, unknown, unknown, LanguageModel.LanguageModel | Approval.SnapshotKey>

const { call, text } = ScriptedModel

/** The restored answer, behind a pause, of an agent in parallel to a waiting one. */
const overAPause = (beside: Within) =>
  Effect.gen(function*() {
    const agent = () => Agent.all("all", [beside, clerk([])])
    const { pending, snapshot } = paused(yield* agent().start("x"))
    const ended = yield* agent().resume(stored(snapshot), pending.map((one) => Approval.approve(one)))
    assert.strictEqual(ended._tag, "Completed")
    return (ended as Approval.Completed<readonly [unknown, string]>).output[0]
  }).pipe(Effect.provide(Layer.merge(key, model)))

const deep = (depth: number, leaf: unknown): unknown => depth === 0 ? leaf : [deep(depth - 1, leaf)]

const nothing = Object.assign(Object.create(null) as object, { a: 1 })

describe("the answer of an inner agent", () => {
  const same: Readonly<Record<string, unknown>> = {
    "nothing": undefined,
    "null": null,
    "a text": "a",
    "a flag": false,
    "a number": 1.5,
    "a list": [1, ["a", null], { b: [true] }],
    "what looks like a kept value": { value: 1, prompt: null },
    "a list a hundred deep": deep(100, 1)
  }
  for (const [what, value] of Object.entries(same)) {
    it.effect(`is stored over a pause: ${what}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* overAPause(says("one", value)), value)
      }))
  }

  it.effect("is stored without absent fields, and with a plain prototype", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* overAPause(says("one", { a: undefined, b: 1 })), { b: 1 })
      assert.deepStrictEqual(yield* overAPause(says("one", nothing)), { a: 1 })
    }))

  it.effect("is kept if it is a conversation", () =>
    Effect.gen(function*() {
      const prompt = Prompt.fromMessages([Prompt.userMessage({ content: [Prompt.textPart({ text: "hello" })] })])
      const kept = yield* overAPause(says("one", prompt))
      assert.isTrue(Prompt.isPrompt(kept))
      assert.deepStrictEqual((kept as Prompt.Prompt).content, prompt.content)
    }))

  const cyclic: Array<unknown> = []
  cyclic.push(cyclic)
  const others: Readonly<Record<string, unknown>> = {
    "NaN": NaN,
    "a number without an end": [Infinity],
    "a date": new Date(0),
    "an object with a date": { a: [{ b: new Date(0) }] },
    "a function": () => 1,
    "a symbol": Symbol("a"),
    "a bigint in a list": [1, 2n],
    "a hole in a list": [undefined],
    "a map": new Map(),
    "what holds itself": cyclic,
    "a list deeper than a hundred": deep(101, 1)
  }
  for (const [what, value] of Object.entries(others)) {
    it.effect(`cannot be stored, so the run does not wait: ${what}`, () =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(overAPause(says("one", value)))
        const [reason] = Exit.isFailure(exit) ? exit.cause.reasons : []
        assert(
          reason !== undefined && Cause.isDieReason(reason) &&
            reason.defect instanceof ConfigurationError.ConfigurationError
        )
        assert.strictEqual(reason.defect.subject, "Agent \"all\"")
        assert.strictEqual(
          reason.defect.problem,
          "it cannot wait: what \"one\" answers has no JSON form. Make it JSON, or let an agent with a schema answer it"
        )
      }))
  }

  const dated = Agent.make("dated", { output: Schema.Date })
  const answering = (answer: string) =>
    ScriptedModel.layer((request) =>
      request.tools.length === 0
        ? text(answer)
        : request.prompt.content.at(-1)?.role === "tool"
        ? text("paid")
        : refund
    )

  it.effect("is stored by its schema, also in lists and choices", () =>
    Effect.gen(function*() {
      const each = Agent.all("each", [dated, says("two", 2)])
      const either = Agent.branch("either", (s: string) => s === "x", { onTrue: dated, onFalse: says("no", 0) })
      const neither = Agent.branch("neither", (s: string) => s !== "x", {
        onTrue: dated,
        onFalse: says("no", { n: 0 })
      })
      const agent = () => Agent.all("all", [each, either, neither, clerk([])])
      const { pending, snapshot } = paused(yield* agent().start("x"))
      const ended = yield* agent().resume(stored(snapshot), pending.map((one) => Approval.approve(one)))
      assert.deepInclude(ended, {
        _tag: "Completed",
        output: [[new Date(0), 2], new Date(0), { n: 0 }, "paid"]
      })
    }).pipe(Effect.provide([key, answering("\"1970-01-01T00:00:00.000Z\"")])))
})

describe("an agent that is made of agents", () => {
  it("has a name", () => {
    assert.throws(() => Agent.all("", [says("a", 1)]), ConfigurationError.ConfigurationError)
  })

  it("needs agents, and a positive number of tries", () => {
    const refused = (make: () => unknown, subject: string, problem: string) => {
      try {
        make()
      } catch (error) {
        assert.instanceOf(error, ConfigurationError.ConfigurationError)
        assert.deepInclude(error, { subject, problem })
        return
      }
      assert.fail(problem)
    }
    refused(() => Agent.firstOf("none", [] as never), "Agent \"none\"", "there is no agent to run")
    for (const n of [0, -1, 1.5, NaN]) {
      refused(() => Agent.speculative(n)(says("a", 1)), "Agent \"a\"", "speculative needs an integer >= 1")
    }
  })

  it.effect("runs one with the given concurrency until one answers", () =>
    Effect.gen(function*() {
      for (const n of [1, 3]) {
        let runs = 0
        const last = Agent.fromFunction("last", (_: string) =>
          Effect.suspend(() => ++runs === n ? Effect.succeed(runs) : Effect.fail("not yet" as const)))
        assert.strictEqual(yield* last.pipe(Agent.speculative(n)).run("x"), n)
        assert.strictEqual(runs, n)
        assert.strictEqual(yield* Effect.flip(last.pipe(Agent.speculative(n)).run("x")), "not yet")
        assert.strictEqual(runs, 2 * n)
      }
    }))

  it("knows its tools if they are known of all of its agents", () => {
    const named = (agent: Agent.Agent<string, unknown, unknown, unknown>) =>
      agent.declared?.tools?.map(({ name }) => name)
    const Look = Tool.make("look", { effects: "read", execute: () => Effect.void })
    const looks = Agent.make("looks", { tools: [Look] })
    assert.deepStrictEqual(named(Agent.all("all", [clerk([]), looks, looks])), ["refund", "look"])
    assert.deepStrictEqual(named(Agent.all("all", [clerk([]), says("a", 1)])), undefined)
    const to = { x: clerk([]) }
    assert.deepStrictEqual(named(Agent.route("route", (_: string) => "x" as const, to)), ["refund"])
    assert.deepStrictEqual(named(looks.pipe(Agent.loopUntil(() => true, { times: 2 }))), ["look"])
    const chooses = Agent.make("chooses", { tools: [Look], output: Schema.Literals(["x"]) })
    assert.deepStrictEqual(named(Agent.route("route", chooses, to)), ["refund", "look"])
  })

  it.effect("separates runs by hand of a decision from its steps", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const one = says("one", 1)
      const until = (n: unknown) => Effect.map(one.run(""), (m) => n !== m)
      yield* (one as Agent.Agent<unknown, unknown>).pipe(Agent.loopUntil(until, { times: 2 })).run("x").pipe(
        Effect.provide(layer)
      )
      const ids = events.flatMap((event) => event._tag === "AgentStarted" ? [event.agentRunId.split("/")[1]] : [])
      assert.deepStrictEqual(ids, ["one", "one~1", "one#2"])
    }))

  it("compensates within a positive time limit", () => {
    for (const timeout of ["0 seconds", -1] as const) {
      assert.throws(
        () => Agent.compensated({ timeout })(says("a", 1)),
        /Agent "a compensated": compensation.timeout is .* and has to be a duration longer than 0/
      )
    }
    assert.doesNotThrow(() => Agent.compensated({ timeout: "1 millis" })(says("a", 1)))
  })

  it.effect("of which several give drafts or votes runs them at once", () =>
    Effect.gen(function*() {
      const slow = Agent.fromFunction("slow", (_: string) => Effect.delay(Effect.succeed("x"), "1 second"))
      const forms = [
        slow.pipe(Agent.vote(3)),
        Agent.bestOf(slow, { n: 3, judge: Agent.fromFunction("judge", (_: unknown) => Effect.succeed(0)) as never })
      ]
      for (const form of forms) {
        const start = yield* Clock.currentTimeMillis
        assert.strictEqual(yield* Drive.drive(form.run("x") as Effect.Effect<string>), "x")
        assert.strictEqual((yield* Clock.currentTimeMillis) - start, 1_000)
      }
    }))

  it.effect("recovers from a crash only with repeatable calls", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const fates: Array<string> = []
      const store = Layer.succeed(Approval.Resumptions, {
        claim: () => Effect.succeed({ isTakenOver: true, end: (fate) => Effect.sync(() => void fates.push(fate)) })
      })
      const agent = Agent.all("all", [clerk(log, "a"), clerk(log, "b")])
      const { pending, snapshot } = paused(yield* agent.start("x"))
      const resume = (...decide: ReadonlyArray<(call: Approval.PendingCall) => Approval.Decision>) =>
        agent.resume(stored(snapshot), pending.map((one, index) => decide[index]!(one))).pipe(Effect.provide(store))
      const approve = (one: Approval.PendingCall) => Approval.approve(one)
      const reject = (one: Approval.PendingCall) => Approval.reject(one, "no")
      const respond = (one: Approval.PendingCall) => Approval.respond(one, { refunded: 1 })
      for (const decide of [[approve, approve], [approve, reject], [respond, approve]] as const) {
        const refused = yield* Effect.flip(resume(...decide))
        assert.deepInclude(refused, { _tag: "SnapshotRefused", agent: "all", reason: "abandoned" })
      }
      const ended = yield* resume(reject, respond)
      assert.deepInclude(ended, { _tag: "Completed" })
      assert.deepStrictEqual(log, [])
    }).pipe(Effect.provide([key, model])))

  it.effect("waits if one of its agents may", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const asking = Agent.all("asking", [says("a", 1), clerk(log)])
      assert.strictEqual((yield* asking.start("x"))._tag, "Paused")
      const quiet = Agent.all("quiet", [says("a", 1), says("b", 2)])
      assert.deepInclude(yield* quiet.start("x"), { _tag: "Completed", output: [1, 2] })
    }).pipe(Effect.provide([key, model])))

  it.effect("dies with the schema's message if its stored input does not decode", () =>
    Effect.gen(function*() {
      const taking = <S extends Schema.Top>(input: S) =>
        Agent.make("taking", {
          input,
          prompt: () => "x",
          tools: [Refund([])],
          defaults: { onError: Recovery.standard }
        }).pipe(Agent.andThen(says("end", 1)))
      const { pending, snapshot } = paused(
        yield* taking(Schema.Struct({ a: Schema.String })).start({ a: "text" } as never)
      )
      const exit = yield* Effect.exit(
        taking(Schema.Struct({ b: Schema.Int })).resume(
          stored(snapshot),
          pending.map((one) => Approval.approve(one))
        )
      )
      const [reason, ...others] = Exit.isFailure(exit) ? exit.cause.reasons : []
      assert(reason !== undefined && Cause.isDieReason(reason))
      assert.deepStrictEqual(others, [])
      assert.deepInclude(reason.defect as object, { _tag: "SchemaError" })
    }).pipe(Effect.provide([key, model])))

  it.effect("emits no further events of losers without writes", () =>
    Effect.gen(function*() {
      const undone: Array<string> = []
      const Book = Tool.make("book", {
        success: Schema.String,
        effects: "write",
        execute: () => Effect.succeed("booked"),
        compensate: () => Effect.sync(() => void undone.push("cancelled"))
      })
      const waiting = (name: string, compensation?: object) =>
        Agent.make(name, {
          instructions: name,
          tools: [Book, Refund([])],
          defaults: { onError: Recovery.standard },
          ...(compensation === undefined ? undefined : { compensation })
        })
      const done = Agent.fromFunction("done", (_: string) =>
        Effect.gen(function*() {
          for (let n = 0; n < 5_000; n++) yield* Effect.yieldNow
          return "won"
        }))
      const turns = ScriptedModel.layer(({ prompt }) =>
        prompt.content.some(({ role }) => role === "tool") ? refund : call("book", {})
      )
      const run = (agents: ReadonlyArray<Within>) =>
        Effect.gen(function*() {
          const { events, layer } = collect()
          const two = Agent.all("two", agents as never) as never as typeof done
          const output = yield* Agent.firstOf("race", [two, done]).run("x").pipe(Effect.provide([layer, turns, key]))
          assert.strictEqual(output, "won")
          return events.filter(({ _tag }) => _tag === "AgentStarted").length
        })
      // A compensating agent without writes in parallel to one that has booked and does not compensate.
      const quiet = Agent.fromFunction("quiet", (_: string) => Effect.succeed(""))
      const before = yield* run([waiting("b"), quiet])
      const idle = Agent.branch("a", (_: string) => false, { onTrue: waiting("a", {}), onFalse: quiet })
      assert.strictEqual(yield* run([waiting("b"), idle]), before + 1)
      assert.deepStrictEqual(undone, [])
      // Writes of a group are not compensated if only another agent compensates.
      const failing = yield* run([waiting("b", { after: ["failure"] }), quiet])
      const undoing = Agent.compensated({})(quiet)
      assert.strictEqual(yield* run([waiting("b", { after: ["failure"] }), undoing]), failing + 1)
      assert.deepStrictEqual(undone, [])
      assert.isAbove(yield* run([waiting("b", {}), quiet]), before)
      assert.deepStrictEqual(undone, ["cancelled"])
      yield* run([waiting("b", {}), waiting("c")])
      assert.deepStrictEqual(undone, ["cancelled", "cancelled"])
    }))
})
