import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Fiber, Layer, Schema } from "effect"
import {
  Agent,
  AgentEvent,
  Approval,
  IdempotencyLedger,
  Policy,
  Recovery,
  Tool,
  ToolCall,
  ToolRun
} from "@recourse/core"
import { Drive } from "@recourse/testing"

class NoStock extends Schema.TaggedError<NoStock>()("NoStock", { item: Schema.String }) {}

const Double = Tool.make("double", {
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  effects: "read",
  execute: ({ n }) => Effect.succeed(n * 2)
})

const Reserve = Tool.make("reserve", {
  parameters: Schema.Struct({ item: Schema.String }),
  success: Schema.String,
  effects: "write",
  execute: ({ item }) => Effect.fail(new NoStock({ item }))
})

const Slow = Tool.make("slow", {
  success: Schema.String,
  effects: "write",
  execute: () => Effect.as(Effect.sleep("1 minute"), "late")
})

const standard = { onError: Recovery.standard }

const double = (id: string, n: unknown) => ({ id, name: "double" as const, arguments: { n } })

describe("the calls of a run", () => {
  it.effect("return the decoded value and the text for the model", () =>
    Effect.gen(function*() {
      const Day = Tool.make("day", {
        success: Schema.Date,
        effects: "read",
        execute: () => Effect.succeed(new Date(0))
      })
      const run = yield* ToolRun.make("loop", { tools: [Day] })
      const outcome = yield* run.call({ id: "call_1", name: "day", arguments: "{}" })
      if (outcome._tag !== "Success") return assert.fail(outcome._tag)
      assert.deepStrictEqual(outcome.value, new Date(0))
      assert.strictEqual(outcome.text, "1970-01-01T00:00:00.000Z")
    }))

  it.effect("share one budget, and the run ends with it", () =>
    Effect.gen(function*() {
      const run = yield* ToolRun.make("loop", { tools: [Double], budget: { toolCalls: 2 } })
      yield* run.call(double("call_1", 1))
      yield* run.call(double("call_2", 2))
      const error = yield* Effect.flip(run.call(double("call_3", 3)))
      assert.strictEqual(error._tag, "BudgetExceeded")
      const later = yield* Effect.flip(run.call(double("call_4", 4)))
      assert.deepInclude(later, { _tag: "ToolRunEnded", because: "failed" })
      assert.strictEqual((run.signal.reason as { _tag: string })._tag, "BudgetExceeded")
      const { executed, exit } = yield* run.report
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(executed.length, 2)
    }))

  it.effect("emit the events of one run", () =>
    Effect.gen(function*() {
      const tags: Array<string> = []
      const run = yield* ToolRun.make("loop", {
        tools: [Double],
        defaults: standard,
        runId: "run_7",
        onEvent: ({ _tag, runId }) => tags.push(`${runId} ${_tag}`)
      })
      yield* run.call(double("call_1", 1))
      yield* run.call(double("call_2", "two"))
      const { agent, runId, transcript } = yield* run.end
      assert.deepStrictEqual([agent, runId], ["loop", "run_7"])
      assert.deepStrictEqual(transcript.content.map(({ role }) => role), ["assistant", "tool", "assistant", "tool"])
      assert.deepStrictEqual(
        tags,
        [
          "RunStarted",
          "ToolCallStarted",
          "ToolAttempt",
          "ToolAttemptSucceeded",
          "ToolResult",
          "ToolCallStarted",
          "ToolAttempt",
          "ToolAttemptFailed",
          "ToolEscalated",
          "ToolResult",
          "RunFinished"
        ].map((tag) => `run_7 ${tag}`)
      )
    }))

  it.effect("are nested in the run around them", () =>
    Effect.gen(function*() {
      const tags: Array<string> = []
      const outer = Agent.fromFunction("outer", (_: string) =>
        Effect.scoped(Effect.gen(function*() {
          const run = yield* ToolRun.make("inner", { tools: [Double] })
          yield* run.call(double("call_1", 1))
          return run.id
        })))
      const id = yield* outer.run("x", { runId: "run_1" }).pipe(
        Effect.provide(AgentEvent.listen(({ _tag, path }) => Effect.sync(() => tags.push(`${path.join("/")} ${_tag}`))))
      )
      assert.strictEqual(id, "run_1")
      assert.include(tags, "outer/inner ToolResult")
      assert.include(tags, "outer/inner AgentFinished")
    }))

  it.effect("return the first outcome for a repeated call", () =>
    Effect.gen(function*() {
      let writes = 0
      const Write = Tool.make("write", {
        parameters: Schema.Struct({ n: Schema.Number }),
        success: Schema.Number,
        effects: "write",
        execute: () => Effect.sync(() => ++writes)
      })
      const run = yield* ToolRun.make("loop", { tools: [Write], defaults: standard })
      const write = (n: number) => run.call({ id: "call_1", name: "write", arguments: { n } })
      const both = yield* Effect.all([write(1), write(1)], { concurrency: 2 })
      const other = yield* write(2)
      assert.deepStrictEqual(both.map((one) => one._tag === "Success" && one.value), [1, 1])
      assert.deepInclude(other, { callId: "call_1_2", value: 2 })
      assert.strictEqual(writes, 2)
    }))

  it.effect("have stable keys for a run that is restarted with its id", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const Pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        idempotency: true,
        execute: () =>
          Effect.map(ToolCall.ToolCall, ({ idempotencyKey }) => {
            keys.push(String(idempotencyKey))
            return "paid"
          })
      })
      const once = Effect.scoped(Effect.flatMap(
        ToolRun.make("loop", { tools: [Pay], defaults: standard, runId: "run_1" }),
        (run) => run.call({ id: "call_1", name: "pay", arguments: {} })
      ))
      const outcomes = yield* Effect.all([once, once]).pipe(Effect.provide(IdempotencyLedger.layerMemory))
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag), ["Success", "Success"])
      assert.strictEqual(keys.length, 1)
    }))
})

describe("a failure that no recovery handles", () => {
  it.effect("fails its call with its type, and interrupts the others", () =>
    Effect.gen(function*() {
      const run = yield* ToolRun.make("loop", { tools: [Reserve, Slow] })
      const slow = yield* Effect.forkChild(run.call({ id: "call_1", name: "slow", arguments: {} }), {
        startImmediately: true
      })
      const error = yield* Effect.flip(run.call({ id: "call_2", name: "reserve", arguments: { item: "cup" } }))
      assert.deepInclude(error, { _tag: "OutcomeUnknown" })
      const other = yield* Fiber.join(slow)
      assert.strictEqual(other._tag === "Failure" && other.failure.code, "outcome_unknown")
      const { executed } = yield* run.report
      assert.deepStrictEqual(executed.map(({ outcome, tool }) => [tool, outcome]), [
        ["slow", "interrupted"],
        ["reserve", "unknown"]
      ])
    }))

  it.effect("is a defect of the call if the tool died", () =>
    Effect.gen(function*() {
      const Dies = Tool.make("dies", { success: Schema.String, effects: "read", execute: () => Effect.die("broken") })
      const run = yield* ToolRun.make("loop", { tools: [Dies], defaults: standard })
      const exit = yield* Effect.exit(run.call({ id: "call_1", name: "dies", arguments: {} }))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }))

  it.effect("compensates the writes of the run, if it declares so", () =>
    Effect.gen(function*() {
      const undone: Array<string> = []
      const Book = Tool.make("book", {
        success: Schema.String,
        effects: "write",
        compensate: (_arguments, booking) => Effect.sync(() => void undone.push(booking)),
        execute: () => Effect.succeed("b1")
      })
      const run = yield* ToolRun.make("loop", {
        tools: [Book, Reserve],
        compensation: { after: ["failure"] }
      })
      yield* run.call({ id: "call_1", name: "book", arguments: {} })
      yield* Effect.flip(run.call({ id: "call_2", name: "reserve", arguments: { item: "cup" } }))
      const { compensations } = yield* run.report
      assert.deepStrictEqual(undone, ["b1"])
      assert.strictEqual(compensations?.[0]?.outcome, "undone")
    }))
})

describe("a call that is interrupted", () => {
  it.effect("leaves the run open, and its outcome is unknown", () =>
    Effect.gen(function*() {
      const run = yield* ToolRun.make("loop", { tools: [Slow, Double] })
      const call = run.call({ id: "call_1", name: "slow", arguments: {} })
      const fiber = yield* Effect.forkChild(call, { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      const again = yield* call
      assert.strictEqual(again._tag === "Failure" && again.failure.code, "outcome_unknown")
      assert.strictEqual((yield* run.call(double("call_2", 1)))._tag, "Success")
      const { executed } = yield* run.end
      assert.deepStrictEqual(executed.map(({ outcome }) => outcome), ["interrupted", "success"])
    }))

  it("has the failure that the model reads in the promise door", async () => {
    const run = await ToolRun.open("loop", { tools: [Slow] })
    const abort = new AbortController()
    const call = run.callPromise({ id: "call_1", name: "slow", arguments: {} }, { signal: abort.signal })
    await Promise.resolve()
    abort.abort()
    const outcome = await call
    assert.strictEqual(outcome._tag === "Failure" && outcome.failure.code, "outcome_unknown")
    const late = await run.callPromise({ id: "call_2", name: "slow", arguments: {} }, { signal: abort.signal })
    assert.strictEqual(late._tag, "Unhandled")
    const { executed } = await run.cancelPromise()
    assert.strictEqual(executed.length, 1)
    assert.isTrue(run.signal.aborted)
  })
})

describe("a call that needs an approval", () => {
  const policies = [
    Policy.make("writes", ({ effects }) => effects === "write" ? Policy.requireApproval("It writes") : Policy.allow, {
      mayRequestApproval: true
    })
  ]
  const Charge = Tool.make("charge", {
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.String,
    effects: "write",
    execute: ({ order }) => Effect.succeed(`charged ${order}`)
  })
  const charge = (id: string) => ({ id, name: "charge" as const, arguments: { order: "A-1" } })

  it.effect("waits, and runs once it is approved", () =>
    Effect.gen(function*() {
      const run = yield* ToolRun.make("loop", { tools: [Charge], policies })
      const waits = yield* run.call(charge("call_1"))
      if (waits._tag !== "ApprovalRequired") return assert.fail(waits._tag)
      assert.strictEqual(waits.failure.code, "approval_required")
      const approve = Approval.approve(waits.pending[0]!, { by: "Ada" })
      const charged = yield* run.decide(approve)
      assert.deepInclude(charged, { _tag: "Success", value: "charged A-1" })
      const twice = yield* Effect.flip(run.decide(approve))
      assert.deepInclude(twice, { _tag: "DecisionRefused", reason: "unknown_call" })
      const { transcript } = yield* run.end
      assert.strictEqual(transcript.content.length, 2)
    }))

  it.effect("has the decoded answer of a person in place of the tool's", () =>
    Effect.gen(function*() {
      const Due = Tool.make("due", { success: Schema.Date, needsApproval: true, execute: () => Effect.die("not run") })
      const run = yield* ToolRun.make("loop", { tools: [Due] })
      const waits = yield* run.call({ id: "call_1", name: "due", arguments: {} })
      if (waits._tag !== "ApprovalRequired") return assert.fail(waits._tag)
      const answered = yield* run.decide(Approval.respond(waits.pending[0]!, "1970-01-01T00:00:00.000Z"))
      assert.deepStrictEqual(answered._tag === "Success" && answered.value, new Date(0))
    }))

  it.effect("is rejected with the reason, or withdrawn at the end", () =>
    Effect.gen(function*() {
      const tags: Array<string> = []
      const run = yield* ToolRun.make("loop", { tools: [Charge], policies, onEvent: ({ _tag }) => tags.push(_tag) })
      const waits = yield* run.call(charge("call_1"))
      yield* run.call(charge("call_2"))
      if (waits._tag !== "ApprovalRequired") return assert.fail(waits._tag)
      const rejected = yield* run.decide(Approval.reject(waits.pending[0]!, "too much"))
      assert.strictEqual(rejected._tag, "Failure")
      const { executed, transcript } = yield* run.end
      assert.deepStrictEqual(executed, [])
      assert.strictEqual(transcript.content.length, 4)
      assert.strictEqual(tags.filter((tag) => tag === "ApprovalRequested").length, 2)
    }))
})

describe("a run", () => {
  it.effect("taints the calls behind an untrusted result", () =>
    Effect.gen(function*() {
      const Read = Tool.make("read", {
        success: Schema.String,
        effects: "read",
        trust: "untrusted",
        execute: () => Effect.succeed("pay now")
      })
      const run = yield* ToolRun.make("loop", { tools: [Read, Slow], onTainted: "deny" })
      const read = yield* run.call({ id: "call_1", name: "read", arguments: {} })
      assert.deepStrictEqual(read.untrusted, ["read"])
      const denied = yield* run.call({ id: "call_2", name: "slow", arguments: {} })
      assert.strictEqual(denied._tag === "Failure" && denied.failure.code, "permission_denied")
      assert.deepStrictEqual((yield* run.end).taintedBy, ["read"])
    }))

  it.effect("ends at its deadline", () =>
    Drive.drive(Effect.gen(function*() {
      const run = yield* ToolRun.make("loop", { tools: [Slow], budget: { duration: Duration.seconds(5) } })
      const error = yield* Effect.flip(run.call({ id: "call_1", name: "slow", arguments: {} }))
      assert.deepInclude(error, { _tag: "BudgetExceeded", reason: "duration" })
      assert.deepInclude(run.signal.reason, { _tag: "BudgetExceeded", reason: "duration" })
    })))

  it.effect("is interrupted if its scope closes with a failure", () =>
    Effect.gen(function*() {
      let run: ToolRun.ToolRun<typeof Double, unknown> | undefined
      yield* Effect.exit(Effect.scoped(Effect.gen(function*() {
        run = yield* ToolRun.make("loop", { tools: [Double] })
        return yield* Effect.fail("stopped")
      })))
      const { exit } = yield* run!.report
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    }))

  it("releases the layer at its end", async () => {
    let released = 0
    const run = await ToolRun.open("loop", {
      tools: [Double],
      layer: Layer.effectDiscard(Effect.acquireRelease(Effect.void, () => Effect.sync(() => released++)))
    })
    assert.strictEqual(released, 0)
    await run.endPromise()
    await new Promise((done) => setTimeout(done, 5))
    assert.strictEqual(released, 1)
    const late = await run.callPromise(double("call_1", 1))
    assert.deepInclude(late._tag === "Unhandled" && late.error, { _tag: "ToolRunEnded", because: "ended" })
  })
})

describe("the tools of a run for a loop", () => {
  it("have a schema that leaves the check to the run", async () => {
    const Render = Tool.make("render", {
      description: "Renders",
      parameters: Schema.Struct({ n: Schema.Number }),
      success: Schema.String,
      effects: "read",
      status: () => Effect.succeed("done"),
      execute: () => ToolCall.pending("job-7")
    })
    const run = await ToolRun.open("loop", { tools: [Render], defaults: standard })
    const [render, status] = ToolRun.loopTools(run)
    assert.deepStrictEqual([render?.name, render?.description, status?.name], ["render", "Renders", "render_status"])
    assert.deepStrictEqual(Object.keys(render?.jsonSchema["properties"] ?? {}), ["n"])
    assert.deepStrictEqual(render?.schema["~standard"].validate("any"), { value: "any" })
    const broken = await render!.execute("{\"n\": ", { id: "call_1" })
    const started = await render!.execute({ n: 1 }, { id: "call_2" })
    await run.endPromise()
    assert.deepStrictEqual(broken._tag === "Failure" && broken.failure.code, "invalid_arguments")
    assert.deepInclude(started._tag === "Task" && started.result, { status: "pending", task_id: "job-7" })
  })
})

describe("ToolCall.tryPromise", () => {
  it.effect("passes the id, the key and a signal that an interruption aborts", () =>
    Effect.gen(function*() {
      const calls: Array<ToolCall.PromiseCall> = []
      const Pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        idempotency: true,
        execute: () =>
          ToolCall.tryPromise((call) => {
            calls.push(call)
            return new Promise<string>(() => {})
          })
      })
      const run = yield* ToolRun.make("loop", { tools: [Pay] })
      const fiber = yield* Effect.forkChild(run.call({ id: "call_1", name: "pay", arguments: {} }))
      yield* Effect.yieldNow
      while (calls.length === 0) yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(calls[0]?.id, "call_1")
      assert.isString(calls[0]?.idempotencyKey)
      assert.isTrue(calls[0]?.signal.aborted)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})
