/** Why a run ended, for whoever operates the program: loggers and `runMain` print it, without a word from us. */
import { ScriptedModel, TestTracer } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Effect, Equal, Exit, Formatter, Layer, Schedule, Schema } from "effect"
import { Agent, ErrorProjection, Recovery, RunRecord, Tool, ToolError } from "@recourse/core"

const { call, text } = ScriptedModel

class Refused extends Data.TaggedError("Refused")<{ readonly message: string; readonly url?: string }> {}

const secret = "postgres://root:hunter2@10.0.0.7/crm"

const failingWith = (error: unknown, effects: "read" | "write" = "read") =>
  Agent.make("till", { tools: [Tool.make("pay", { effects, execute: () => Effect.fail(error) })] })
    .run("x", { runId: "run_42" }).pipe(
      Effect.provide(ScriptedModel.layer([call("pay", {})])),
      Effect.exit,
      Effect.map((exit) => Exit.isFailure(exit) ? exit.cause : Cause.empty)
    )

const toolError = (cause: Cause.Cause<unknown>) => Cause.squash(cause) as ToolError.ExecutionError

describe("the cause of a failed run", () => {
  it.effect("prints the run, the tool's error and its origin, without secrets", () =>
    Effect.gen(function*() {
      const cause = yield* failingWith(new Refused({ message: `no answer from ${secret}` }))
      const printed = Cause.pretty(cause)
      assert.match(printed, /^ExecutionError: Execution failed in tool "pay" \(call call_1, attempt 1\)\n/)
      assert.include(printed, "at run run_42 of agent \"till\"")
      assert.include(printed, "[cause]: Refused: no answer from [redacted: credentials]\n")
      assert.include(printed, "operatorCause.test.ts")
      assert.notInclude(printed, "hunter2")
      // Programs still see the original.
      assert.strictEqual((toolError(cause).reason as Refused).message, `no answer from ${secret}`)
      assert.strictEqual(RunRecord.fromCause(cause).pipe((record) => record._tag), "Some")
    }))

  it.effect("is the error itself without secrets, else a copy of its class", () =>
    Effect.gen(function*() {
      const plain = new Refused({ message: "closed" })
      assert.strictEqual(toolError(yield* failingWith(plain)).cause, plain)
      const copy = toolError(yield* failingWith(new Refused({ message: "closed", url: secret }))).cause
      assert.instanceOf(copy, Refused)
      assert.strictEqual((copy as Refused).url, "[redacted: credentials]")
      assert.strictEqual((copy as Refused)._tag, "Refused")
    }))

  it.effect("redacts causes of causes, also circular ones", () =>
    Effect.gen(function*() {
      const deep = new Error("outer", { cause: new TypeError("middle", { cause: new Error(secret) }) })
      const printed = Cause.pretty(yield* failingWith(deep))
      for (const part of ["Error: outer", "TypeError: middle", "[redacted: credentials]"]) assert.include(printed, part)
      const loop = new Error(secret)
      loop.cause = loop
      assert.notInclude(Cause.pretty(yield* failingWith(loop)), "hunter2")
    }))

  it.effect("redacts lines that are no stack frames", () =>
    Effect.gen(function*() {
      const odd = new Error("x")
      odd.stack = `Error: x\n    at pay (file:///app/aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z/pay.js:1:2)\n${secret}`
      const { stack } = toolError(yield* failingWith(odd)).cause as Error
      assert.strictEqual(
        stack,
        "Error: x\n    at pay (file:///app/aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z/pay.js:1:2)\n[redacted: credentials]"
      )
      const inMessage = new Error(`x\n    at ${secret}:1:2`)
      assert.notInclude(Cause.pretty(yield* failingWith(inMessage)), "hunter2")
    }))

  it.effect("takes errors that are no errors", () =>
    Effect.gen(function*() {
      for (const error of [undefined, null, "text " + secret, { code: 7, url: secret }, 42, Symbol("s"), () => 1]) {
        const cause = yield* failingWith(error)
        assert.notInclude(Cause.pretty(cause), "hunter2")
        assert.include(Cause.pretty(cause), "run_42")
      }
      const odd = Object.assign(new Error("x"), { message: 7, stack: 8 })
      assert.include(Cause.pretty(yield* failingWith(odd)), "run_42")
    }))

  it.effect("is present for possible writes and escalations", () =>
    Effect.gen(function*() {
      const cause = yield* failingWith(new Refused({ message: "lost" }), "write")
      assert.include(Cause.pretty(cause), "OutcomeUnknown: ")
      assert.include(Cause.pretty(cause), "[cause]: Refused: lost")
      const fields = { tool: "t", callId: "c", attempt: 1, causes: [] }
      const escalation = new ToolError.Escalation({
        ...fields,
        code: "c",
        reason: "r",
        severity: "low",
        error: new Refused({ message: "why" })
      })
      assert.include(Cause.pretty(Cause.fail(escalation)), "[cause]: Refused: why")
      const ledger = new ToolError.LedgerUnavailable({ ...fields, reason: new Refused({ message: "disk full" }) })
      assert.include(Cause.pretty(Cause.fail(ledger)), "[cause]: Refused: disk full")
    }))

  it.effect("names the run of own errors, defects, budgets, nested agents", () =>
    Effect.gen(function*() {
      const inner = Agent.fromFunction("inner", (_: string) => Effect.fail("no" as const))
      const outer = Agent.fromFunction("outer", (input: string) => inner.run(input))
      const printed = Cause.pretty(Cause.fromReasons(
        [yield* Effect.exit(outer.run("x", { runId: "run_1" }))].flatMap((exit) =>
          Exit.isFailure(exit) ? exit.cause.reasons : []
        )
      ))
      assert.strictEqual(printed, "Error: no\n    at run run_1 of agent \"outer\"")
      const dying = Agent.fromFunction("dying", (_: string) => Effect.die(new Error("bug")))
      const died = yield* Effect.exit(dying.run("x", { runId: "run_2" }))
      assert.include(Exit.isFailure(died) ? Cause.pretty(died.cause) : "", "at run run_2 of agent \"dying\"")
    }))

  it.effect("is computed on access, is no field, and changes no equality", () =>
    Effect.gen(function*() {
      let looks = 0
      const watched = new Error("x")
      Object.defineProperty(watched, "stack", { get: () => (looks++, "Error: x") })
      const error = toolError(yield* failingWith(watched))
      assert.strictEqual(looks, 0)
      assert.isFalse(Object.keys(error).includes("cause"))
      assert.isTrue(Equal.equals(error, error))
      assert.notProperty(yield* Schema.encodeEffect(ToolError.ExecutionError)(error), "cause")
    }))

  it.effect("is not computed by retries, which follow the reason of an error", () =>
    Effect.gen(function*() {
      let reads = 0
      let attempts = 0
      const failing = () => {
        const down = new Refused({ message: "down" })
        return Object.defineProperty(down, "stack", { get: () => `${++reads}` })
      }
      const flaky = Tool.make("pay", {
        success: Schema.String,
        effects: "read",
        execute: () => Effect.suspend(() => ++attempts < 3 ? Effect.fail(failing()) : Effect.succeed("paid"))
      }).pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever })))
      const agent = Agent.make("till", { tools: [flaky] })
      yield* agent.run("x").pipe(Effect.provide(ScriptedModel.layer([call("pay", {}), text("Paid.")])))
      assert.deepStrictEqual({ attempts, reads }, { attempts: 3, reads: 0 })
    }))

  it.effect("reaches neither the model nor the user nor a span", () =>
    Effect.gen(function*() {
      const Pay = Tool.make("pay", {
        effects: "read",
        execute: () => Effect.fail(new Refused({ message: "inner words" }))
      })
      const agent = Agent.make("a", { tools: [Pay], defaults: { onError: Recovery.keepGoing } })
      yield* agent.run("x")
      const { lastRequest } = yield* ScriptedModel.ScriptedModel
      assert.notInclude(JSON.stringify((yield* lastRequest).prompt), "inner words")
      const failed = yield* Effect.exit(failingWith(new Refused({ message: "inner words" })))
      const spans = yield* (yield* TestTracer.TestTracer).spans
      assert.notInclude(Formatter.formatJson(spans), "inner words")
      const error = toolError(Exit.isSuccess(failed) ? failed.value : Cause.empty)
      assert.notInclude(JSON.stringify(yield* ErrorProjection.forUser(error, "run_42")), "inner words")
    }).pipe(Effect.provide(Layer.merge(TestTracer.layer, ScriptedModel.layer([call("pay", {}), text("ok")])))))

  describe("as a copy without secrets", () => {
    const causeOf = (reason: unknown) =>
      new ToolError.ExecutionError({ tool: "pay", callId: "c1", attempt: 1, causes: [], reason }).cause
    const hidden = "[redacted: credentials]"

    it("has the message, the stack and the fields of an error", () => {
      const error = Object.assign(new TypeError(`no answer from ${secret}`), { url: secret, port: 1 })
      const copy = causeOf(error) as typeof error
      assert.instanceOf(copy, TypeError)
      assert.deepStrictEqual(Object.entries(copy), [["url", hidden], ["port", 1]])
      for (
        const [key, value, enumerable] of [
          ["url", hidden, true],
          ["message", `no answer from ${hidden}`, false],
          ["stack", error.stack!.replaceAll(secret, hidden), false],
          ["cause", undefined, false]
        ] as const
      ) {
        assert.deepStrictEqual(
          Object.getOwnPropertyDescriptor(copy, key),
          { value, enumerable, writable: true, configurable: true },
          key
        )
      }
    })

    it("exists if any part has a secret, else the error itself", () => {
      const plain = () => Object.assign(new Error("closed", { cause: new Error("reset") }), { port: 1, host: "crm" })
      for (const error of [plain(), new Error(""), Object.assign(new Error("no stack"), { stack: undefined })]) {
        assert.strictEqual(causeOf(error), error)
      }
      const inStack = plain()
      inStack.stack += `\n${secret}`
      // Text as long as the message is checked together with the text behind it.
      const inName = Object.assign(plain(), { message: "no connection" })
      inName.stack = secret
      for (
        const error of [
          Object.assign(plain(), { host: secret }),
          Object.assign(plain(), { port: secret }),
          Object.assign(plain(), { cause: new Error(secret) }),
          Object.assign(plain(), { cause: secret }),
          Object.assign(plain(), { message: secret }),
          Object.assign(plain(), { message: secret, stack: undefined }),
          inStack,
          inName
        ]
      ) {
        const copy = causeOf(error) as Error
        assert.notStrictEqual(copy, error)
        assert.notInclude(`${copy.message}${copy.stack}${JSON.stringify(copy)}${String(copy.cause)}`, "hunter2")
      }
    })

    it("keeps stack frames with any names, and checks other lines", () => {
      const random = "9fQ2mZ7kP4xW8vB1tR6y"
      const lines = [
        [`    at pay (/srv/${random}/pay.js:10:20)`, true],
        [`    at /srv/${random}/pay.js:10:20`, true],
        [`    at Array.${random} (<anonymous>)`, true],
        [`    at Array.${random} (native)`, true],
        [`at ${random}:10:20`, false],
        [`seen at ${random}:10:20`, false],
        [`    at ${random} (native) of it`, false],
        [`    of ${random}:10:20`, false],
        [`    at ${random}`, false]
      ] as const
      const error = new Error("odd")
      error.stack = `Error: odd\n${lines.map(([line]) => line).join("\n")}`
      const [head, ...shown] = (causeOf(error) as Error).stack!.split("\n")
      assert.strictEqual(head, "Error: odd")
      assert.deepStrictEqual(shown.map((line, index) => line === lines[index]![0]), lines.map(([, isPlace]) => isPlace))
      // Without its message, or with an empty prefix, a stack is checked too.
      error.stack = `    at pay (/srv/${random}/pay.js:10:20)\n${secret}`
      assert.include((causeOf(error) as Error).stack, hidden)
      error.stack = `odd\n    at pay (/srv/${random}/pay.js:10:20)\n${secret}`
      assert.strictEqual((causeOf(error) as Error).stack, `odd\n    at pay (/srv/${random}/pay.js:10:20)\n${hidden}`)
    })

    it("shows eight nested causes; other values follow the same rules", () => {
      const chain = (length: number): Error =>
        new Error(`cause ${length}`, length === 0 ? undefined : { cause: chain(length - 1) })
      const shown = (error: unknown): ReadonlyArray<string> =>
        error instanceof Error ? [error.message, ...shown(error.cause)] : []
      for (const length of [8, 12]) {
        const error = chain(length)
        assert.strictEqual(causeOf(error) === error, length === 8)
        assert.strictEqual(shown(causeOf(error)).length, 9)
      }
      assert.deepStrictEqual(causeOf({ at: "/home/ada/x", url: secret }), { at: "/home/ada/x", url: hidden })
      assert.strictEqual(causeOf(secret), hidden)
    })
  })
})
