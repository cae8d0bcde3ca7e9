import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import {
  Clock,
  Data,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  Redacted,
  References,
  Schedule,
  Schema
} from "effect"
import { LanguageModel } from "effect/ai"
import { TestClock } from "effect/testing"
import {
  Agent,
  AiToolkit,
  Approval,
  IdempotencyLedger,
  Reconciliation,
  Recovery,
  Redaction,
  Tool,
  ToolCall,
  type ToolError
} from "@recourse/core"
import { by, collect, lastResults } from "../support/kit.ts"

class Declined extends Data.TaggedError("Declined") {}
class Lost extends Data.TaggedError("Lost") {}

const parameters = Schema.Struct({ order: Schema.Int, amount: Schema.optionalKey(Schema.Int) })

const { call, calls, text } = ScriptedModel

/** A service that pays once for each key, and answers late, or not at all, as configured. */
const service = () => {
  const done = new Map<string, number>()
  const keys: Array<string | undefined> = []
  const pay = (answer: (request: number) => Effect.Effect<void, Declined | Lost> = () => Effect.void) =>
    Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) =>
      Effect.suspend(() => {
        keys.push(idempotencyKey)
        const key = idempotencyKey ?? `none ${keys.length}`
        if (!done.has(key)) done.set(key, done.size + 1)
        return Effect.as(answer(keys.length), `payment ${done.get(key)}`)
      }))
  return { done, keys, pay }
}

/** Runs an agent by a script, and returns its exit, and the model's last request. */
const play = <E, R>(
  agent: Agent.Agent<string, unknown, E, R>,
  turns: ReadonlyArray<ScriptedModel.Turn>
) =>
  Effect.gen(function*() {
    const report = yield* agent.report("go")
    const script = yield* ScriptedModel.ScriptedModel
    const results = (yield* script.requests).map((request) => lastResults(request.prompt))
    return { report, results, last: results.at(-1) ?? [] }
  }).pipe(Effect.provide(ScriptedModel.layer(turns)))

const code = (result: unknown): string => (result as { readonly code: string }).code

const key = ({ order }: { readonly order: number }) => `order-${order}`

type Paying = ReturnType<typeof service>["pay"]

/** Calls with one key are one payment. */
const Pay = (pay: Paying, answer?: Parameters<Paying>[0]) =>
  Tool.make("pay", {
    parameters,
    success: Schema.String,
    effects: "write",
    idempotency: { key, rejected: ["Declined"], timeToLive: "1 hour" },
    execute: () => pay(answer)
  })

/** Each call is a payment of its own. */
const PayByCall = (pay: Paying, answer?: Parameters<Paying>[0]) =>
  Tool.make("pay", {
    parameters,
    success: Schema.String,
    effects: "write",
    idempotency: true,
    execute: () => pay(answer)
  })

describe("attempts of an idempotent write", () => {
  it.effect("that timed out repeat one key, and the service executes once", () =>
    Effect.gen(function*() {
      const { done, keys, pay } = service()
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        timeout: "5 seconds",
        idempotency: true,
        execute: () => pay((request) => request === 1 ? Effect.never : Effect.void)
      })
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
      const { last } = yield* Drive.drive(play(agent, [call("pay", { order: 7 }), text("ok")]))
      assert.deepStrictEqual(last.map((part) => part.result), ["payment 1"])
      assert.strictEqual(keys.length, 2)
      assert.strictEqual(keys[0], keys[1])
      assert.match(keys[0]!, /^[0-9a-f]{64}$/)
      assert.strictEqual(done.size, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("that all timed out have an unknown outcome for code and model", () =>
    Effect.gen(function*() {
      const { done, keys, pay } = service()
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        timeout: "1 second",
        idempotency: true,
        execute: () => pay(() => Effect.never)
      })
      const error = yield* Drive.drive(Effect.flip(tool.call.pipe(by({ order: 6 }))))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
      const { last } = yield* Drive.drive(play(agent, [call("pay", { order: 7 }), text("ok")]))
      // A new call of the model would have a new key.
      assert.deepInclude(last[0]?.result, {
        code: "outcome_unknown",
        message_for_model: "No answer came back. The requested action may have happened.",
        safe_to_retry: false,
        instruction: "Do not call again. Check first whether it happened."
      })
      assert.strictEqual(keys.length, 4)
      assert.strictEqual(done.size, 2)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("that timed out under a key of arguments may repeat safely", () =>
    Effect.gen(function*() {
      for (const effects of ["write", undefined] as const) {
        const { done, keys, pay } = service()
        const tool = Tool.make("pay", {
          parameters,
          success: Schema.String,
          effects,
          timeout: "1 second",
          idempotency: {
            key,
            reconcile: (_, { order }) =>
              Effect.sync(() =>
                done.has(`order-${order}`) ? Reconciliation.completed(`found ${order}`) : Reconciliation.notStarted
              )
          },
          execute: () => pay(() => Effect.never)
        })
        const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
        const { results } = yield* Drive.drive(
          play(agent, [call("pay", { order: 7 }), call("pay", { order: 7 }), text("ok")])
        ).pipe(Effect.provide(IdempotencyLedger.layerMemory))
        assert.deepInclude(results[1]?.[0]?.result, {
          code: "outcome_unknown",
          message_for_model: "No answer came back. The requested action may have happened.",
          safe_to_retry: true,
          instruction: "The same call with the same arguments is never done twice: it is safe to make it again. " +
            "Do not change the arguments before you know whether it happened."
        })
        assert.strictEqual(results[2]?.[0]?.result, "found 7")
        assert.deepStrictEqual([...new Set(keys)], ["order-7"])
        assert.strictEqual(done.size, 1)
      }
    }))

  it.effect("that all timed out leave their key unknown for the next call", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        timeout: "1 second",
        idempotency: { key },
        execute: () => pay(() => Effect.never)
      })
      const first = yield* Drive.drive(Effect.flip(tool.call.pipe(by({ order: 7 }))))
      const second = yield* Drive.drive(Effect.flip(tool.call.pipe(by({ order: 7 }, "c2"))))
      assert.deepStrictEqual([first._tag, second._tag], ["OutcomeUnknown", "OutcomeUnknown"])
      assert.deepStrictEqual(keys, ["order-7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("that failed are not repeated with a fixer's arguments", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      let asked = 0
      const tool = PayByCall(pay, () => Effect.fail(new Lost())).pipe(
        Tool.onError(
          Recovery.fix(
            "ExecutionError",
            Agent.fromFunction("fixer", () => Effect.sync(() => `{"order":${++asked}}`))
          )
        )
      )
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 7 })))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      assert.strictEqual(asked, 0)
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("a recovery that runs an executed call again with other arguments", () => {
  it.effect("does not run it, and the first may have happened", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const tool = PayByCall(pay, () => Effect.fail(new Lost())).pipe(
        Tool.onError((call) =>
          Effect.catchTag(
            call,
            "OutcomeUnknown",
            () => Effect.updateService(call, ToolCall.ToolCall, (now) => ({ ...now, arguments: { order: 8 } }))
          )
        )
      )
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 7 })))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      if (error._tag === "OutcomeUnknown") assert.strictEqual(error.causes.at(-1)?.error, "IdempotencyConflict")
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

const everything = Recovery.policy({
  ExecutionError: "escalate",
  OutcomeUnknown: "escalate",
  IdempotencyConflict: "escalate",
  LedgerUnavailable: "escalate",
  PartialSuccess: "escalate"
})

describe("calls with one key", () => {
  it.effect("with equal arguments get the first result, waiting while it runs", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const { events, layer } = collect()
      const agent = Agent.make("a", { tools: [Pay(pay, () => Effect.sleep("3 seconds"))] })
      const { last } = yield* Drive.drive(
        play(agent, [
          calls([{ name: "pay", params: { order: 7 } }, { name: "pay", params: { order: 7 } }]),
          text("ok")
        ]).pipe(Effect.provide(layer))
      )
      assert.deepStrictEqual(last.map((part) => part.result), ["payment 1", "payment 1"])
      assert.deepStrictEqual(keys, ["order-7"])
      const replayed = events.filter((event) => event._tag === "ToolReplayed")
      assert.deepStrictEqual(replayed.map((event) => event.waited), [true])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("get the first result in another run, until it expires", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const agent = Agent.make("a", { tools: [Pay(pay)] })
      const turns = [call("pay", { order: 7 }), text("ok")]
      yield* play(agent, turns)
      const again = yield* play(agent, turns)
      assert.deepStrictEqual(again.last.map((part) => part.result), ["payment 1"])
      assert.strictEqual(keys.length, 1)
      assert.strictEqual(again.report.usage.toolCalls, 0)
      yield* TestClock.adjust("1 hour")
      yield* play(agent, turns)
      assert.strictEqual(keys.length, 2)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("with other arguments are a conflict that ends the run", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const agent = Agent.make("a", { tools: [Pay(pay)], defaults: { onError: Recovery.standard } })
      const { report } = yield* play(agent, [
        call("pay", { order: 7, amount: 10 }),
        call("pay", { order: 7, amount: 99 })
      ])
      const error = Exit.isFailure(report.exit) ? report.exit.cause.reasons.find((r) => r._tag === "Fail")?.error : null
      assert.strictEqual((error as ToolError.IdempotencyConflict)._tag, "IdempotencyConflict")
      assert.strictEqual(code(lastResults(report.transcript)[0]?.result), "idempotency_conflict")
      assert.deepStrictEqual(keys, ["order-7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("and other arguments at the same time are a conflict, too", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const agent = Agent.make("a", {
        tools: [Pay(pay, () => Effect.sleep("1 second"))],
        defaults: { onError: everything }
      })
      const { last } = yield* Drive.drive(
        play(agent, [
          calls([{ name: "pay", params: { order: 7, amount: 1 } }, { name: "pay", params: { order: 7, amount: 2 } }]),
          text("ok")
        ])
      )
      assert.strictEqual(last.filter((part) => part.result === "payment 1").length, 1)
      assert.strictEqual(last.filter((part) => code(part.result) === "idempotency_conflict").length, 1)
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("run again after a failure declared as not done", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const agent = Agent.make("a", {
        tools: [Pay(pay, (request) => request === 1 ? Effect.fail(new Declined()) : Effect.void)],
        defaults: { onError: everything }
      })
      const { results } = yield* play(agent, [call("pay", { order: 7 }), call("pay", { order: 7 }), text("ok")])
      assert.strictEqual(code(results[1]?.[0]?.result), "execution_error")
      assert.strictEqual(results[2]?.[0]?.result, "payment 1")
      assert.strictEqual(keys.length, 2)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("are unknown after other failures, also for waiting calls", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const agent = Agent.make("a", {
        tools: [Pay(pay, () => Effect.andThen(Effect.sleep("1 second"), Effect.fail(new Lost())))],
        defaults: { onError: everything }
      })
      const { last } = yield* Drive.drive(
        play(agent, [
          calls([{ name: "pay", params: { order: 7 } }, { name: "pay", params: { order: 7 } }]),
          text("ok")
        ])
      )
      assert.deepStrictEqual(last.map((part) => code(part.result)), ["outcome_unknown", "outcome_unknown"])
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("are unknown after the first was interrupted", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const tool = Pay(pay, () => Effect.never)
      const first = yield* Effect.forkChild(tool.call.pipe(by({ order: 7 })), { startImmediately: true })
      while (keys.length === 0) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* Fiber.interrupt(first)
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 7 }, "c2")))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("replay a partial success and a pending task unchanged", () =>
    Effect.gen(function*() {
      let runs = 0
      const parts = Tool.make("parts", {
        effects: "write",
        idempotency: { key: () => "k" },
        execute: () =>
          Effect.suspend(() => {
            runs++
            return ToolCall.partial({ succeeded: ["a"], failed: [{ item: "b", code: "gone", reason: "It is gone" }] })
          })
      })
      const job = Tool.make("job", {
        success: Schema.String,
        effects: "write",
        idempotency: { key: () => "k" },
        execute: () =>
          Effect.suspend(() => {
            runs++
            return ToolCall.pending("task-1", { retryAfter: "1 minute" })
          })
      })
      const agent = Agent.make("a", { tools: [parts, job], defaults: { onError: everything } })
      const both = calls([{ name: "parts", params: {} }, { name: "job", params: {} }])
      const { results } = yield* play(agent, [both, both, text("ok")])
      const plain = (results: ReadonlyArray<{ readonly result: unknown }> | undefined) =>
        results?.map(({ result }) => ({ ...(result as object), trace_id: "" }))
      assert.deepStrictEqual(plain(results[2]), plain(results[1]))
      assert.strictEqual(code(results[2]?.[0]?.result), "partial_success")
      assert.strictEqual((results[2]?.[1]?.result as { task_id: string }).task_id, "task-1")
      assert.strictEqual(runs, 2)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("replay the value for code and its encoded form for the model", () =>
    Effect.gen(function*() {
      const tool = Tool.make("when", {
        success: Schema.DateFromString,
        effects: "write",
        idempotency: { key: () => "k" },
        execute: () => Effect.succeed(new Date(0))
      })
      const first = yield* tool.call.pipe(by({}))
      const second = yield* tool.call.pipe(by({}, "c2"))
      assert.deepStrictEqual([first, second], [new Date(0), new Date(0)])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("calls without a key of their own", () => {
  it.effect("are separated by ids, also in nested agents", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const tool = PayByCall(pay)
      const ask = Tool.make("ask", {
        parameters: Schema.Struct({ n: Schema.Int }),
        success: Schema.String,
        execute: () =>
          Agent.make("clerk", { tools: [tool] }).pipe(
            Agent.provide(
              ScriptedModel.layer([
                { _tag: "Answer", calls: [{ id: "x", name: "pay", params: { order: 1 } }] },
                text("done")
              ])
            )
          ).run("pay")
      })
      const agent = Agent.make("boss", { tools: [tool, ask] })
      yield* play(agent, [
        calls([
          { name: "pay", params: { order: 1 }, id: "x" },
          { name: "ask", params: { n: 1 } },
          { name: "ask", params: { n: 2 } }
        ]),
        text("ok")
      ])
      assert.strictEqual(keys.length, 3)
      assert.strictEqual(new Set(keys).size, 3)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("calls of `generateText` without a key of their own", () => {
  it.effect("are never taken for each other", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const tool = PayByCall(pay)
      const ask = LanguageModel.generateText({ prompt: "pay", toolkit: AiToolkit.toToolkit([tool]) }).pipe(
        Effect.map((response) => response.toolResults[0]?.encodedResult as unknown),
        Effect.provide(ScriptedModel.layer([call("pay", { order: 7 }, { id: "0" })]))
      )
      assert.deepStrictEqual([yield* ask, yield* ask], ["payment 1", "payment 2"])
      assert.strictEqual(keys.length, 2)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

// --- a store that can be looked into, and broken

const recording = (broken: ReadonlySet<ToolErrorOperation> = new Set()) => {
  const log: Array<string> = []
  const entries = new Map<string, IdempotencyLedger.Entry>()
  const step = <A>(operation: ToolErrorOperation, effect: () => A) =>
    Effect.suspend(() => {
      log.push(operation)
      return broken.has(operation)
        ? Effect.fail(new IdempotencyLedger.LedgerError({ operation, reason: "disk full" }))
        : Effect.sync(effect)
    })
  const at = Clock.currentTimeMillis
  const store: IdempotencyLedger.Store = {
    begin: (intent, lease) =>
      Effect.flatMap(at, (now) =>
        step("begin", () => {
          const entry = entries.get(intent.id)
          if (entry !== undefined) return { entry, now }
          entries.set(intent.id, { ...intent, startedAt: now, leasedUntil: now + Duration.toMillis(lease) })
          return undefined
        })),
    renew: (intent, lease) =>
      Effect.flatMap(at, (now) =>
        step("renew", () => {
          const entry = entries.get(intent.id)
          if (entry?.claim !== intent.claim || entry.outcome !== undefined) return false
          const { callId } = intent
          entries.set(intent.id, { ...entry, callId, leasedUntil: now + Duration.toMillis(lease) })
          return true
        })),
    take: (from, intent, lease) =>
      Effect.flatMap(at, (now) =>
        step("take", () => {
          entries.set(intent.id, { ...from, claim: intent.claim, leasedUntil: now + Duration.toMillis(lease) })
          return true
        })),
    complete: (intent, outcome, timeToLive) =>
      Effect.flatMap(at, (now) =>
        step("complete", () => {
          const expiresAt = now + Duration.toMillis(timeToLive)
          entries.set(intent.id, { ...intent, startedAt: now, leasedUntil: now, outcome, expiresAt })
          return "recorded" as const
        })),
    release: (intent) => step("release", () => void entries.delete(intent.id))
  }
  return { log, entries, layer: IdempotencyLedger.layer(store) }
}

type ToolErrorOperation = IdempotencyLedger.LedgerError["operation"]

describe("the ledger", () => {
  it.effect("has the intent before the tool, the result after, no arguments", () =>
    Effect.gen(function*() {
      const { entries, layer, log } = recording()
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        idempotency: true,
        execute: () => Effect.sync(() => (log.push("execute"), "paid"))
      })
      yield* tool.call.pipe(by({ order: 4711 }), Effect.provide(layer))
      assert.deepStrictEqual(log, ["begin", "execute", "complete"])
      const [entry] = [...entries.values()]
      assert.strictEqual(entry?.tool, "pay")
      assert.deepStrictEqual(entry?.outcome, { _tag: "Result", value: "paid" })
      assert.notInclude(JSON.stringify(entry), "4711")
    }))

  it.effect("that cannot record the intent prevents execution, and informs the model", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const { layer, log } = recording(new Set(["begin"]))
      const agent = Agent.make("a", { tools: [Pay(pay)], defaults: { onError: Recovery.standard } })
      const { last } = yield* play(agent, [call("pay", { order: 7 }), text("ok")]).pipe(Effect.provide(layer))
      const result = last[0]?.result as { readonly code: string; readonly safe_to_retry: boolean }
      assert.strictEqual(result.code, "ledger_unavailable")
      assert.isTrue(result.safe_to_retry)
      // The store may have recorded it before it failed.
      assert.deepStrictEqual(log, ["begin", "release"])
      assert.deepStrictEqual(keys, [])
    }))

  it.effect("that cannot record a result keeps it, and is unknown later", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const { layer } = recording(new Set(["complete"]))
      const agent = Agent.make("a", { tools: [Pay(pay)], defaults: { onError: Recovery.standard } })
      const { results } = yield* play(agent, [call("pay", { order: 7 }), call("pay", { order: 7 }), text("ok")]).pipe(
        Effect.provide(layer)
      )
      assert.strictEqual(results[1]?.[0]?.result, "payment 1")
      assert.strictEqual(code(results[2]?.[0]?.result), "outcome_unknown")
      assert.strictEqual(keys.length, 1)
    }))

  it.effect("logs failed records for operators, without secrets of the cause", () =>
    Effect.gen(function*() {
      const url = "redis://worker:hunter2hunter2@10.0.0.7:6379"
      const logged: Array<{ readonly message: unknown; readonly fields: Readonly<Record<string, unknown>> }> = []
      const logger = Logger.layer([
        Logger.make(({ fiber, message }) =>
          logged.push({ message, fields: { ...fiber.getRef(References.CurrentLogAnnotations) } })
        )
      ])
      const failing = (reason: unknown) =>
        IdempotencyLedger.layer({
          begin: () => Effect.undefined,
          renew: () => Effect.succeed(true),
          take: () => Effect.succeed(true),
          complete: () => Effect.fail(new IdempotencyLedger.LedgerError({ operation: "complete", reason })),
          release: () => Effect.die(new Error(`defect at ${url}`))
        })
      const { pay } = service()
      const reason = new Error("C-123456 is not connected", { cause: new Error(`ECONNREFUSED ${url}`) })
      const agent = Agent.make("a", {
        tools: [
          Pay(pay),
          Tool.make("decline", {
            parameters,
            success: Schema.String,
            effects: "write",
            idempotency: { key: () => "declined", rejected: ["Declined"] },
            execute: () => Effect.fail(new Declined())
          })
        ],
        defaults: { onError: everything }
      })
      const { last } = yield* play(agent, [
        calls([{ name: "pay", params: { order: 7 } }, { name: "decline", params: { order: 7 } }]),
        text("ok")
      ]).pipe(
        Effect.provide(failing(reason)),
        Effect.provide(Redaction.layer(
          Redaction.make({ rules: [...Redaction.secrets, { kind: "customer", pattern: /\bC-\d{6}\b/g }] })
        )),
        Effect.provide(logger)
      )
      assert.strictEqual(last[0]?.result, "payment 1")
      assert.strictEqual(logged.length, 2)
      const [complete, release] = ["complete", "release"].map((operation) =>
        logged.map(({ fields }) => fields).find((fields) => fields["operation"] === operation)
      )
      assert.deepInclude(complete, { operation: "complete", tool: "pay", error: "LedgerError" })
      assert.deepInclude(release, { operation: "release", tool: "decline", error: "LedgerError" })
      assert.match(String(complete?.["trace_id"]), /^run_/)
      const all = JSON.stringify(logged)
      for (const secret of ["hunter2", "C-123456", "10.0.0.7"]) assert.notInclude(all, secret)
      // The remaining text names the fault.
      assert.include(String(complete?.["cause"]), "[redacted: customer] is not connected")
      assert.include(String(complete?.["cause"]), "ECONNREFUSED [redacted: credentials]")
      assert.include(String(release?.["cause"]), "defect at [redacted: credentials]")
    }))

  it.effect("deletes an intent if an exhausted budget prevented the call", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const { entries, layer, log } = recording()
      const agent = Agent.make("a", { tools: [Pay(pay)], budget: { toolCalls: 0 } })
      const { report } = yield* play(agent, [call("pay", { order: 7 })]).pipe(Effect.provide(layer))
      assert.isTrue(Exit.isFailure(report.exit))
      assert.deepStrictEqual(log, ["begin", "release"])
      assert.strictEqual(entries.size, 0)
      assert.deepStrictEqual(keys, [])
    }))

  it.effect("deletes it for an unexecuted second try after a rejected first", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const { entries, layer, log } = recording()
      const tool = Pay(pay, () => Effect.fail(new Declined())).pipe(
        Tool.onError(Recovery.retry({ times: 1, schedule: Schedule.forever }))
      )
      const agent = Agent.make("a", { tools: [tool], budget: { toolCalls: 1 } })
      const { report } = yield* play(agent, [call("pay", { order: 7 })]).pipe(Effect.provide(layer))
      assert.isTrue(Exit.isFailure(report.exit))
      assert.strictEqual(keys.length, 1)
      assert.deepStrictEqual(log, ["begin", "release", "begin", "release"])
      assert.strictEqual(entries.size, 0)
    }))

  it.effect("is not asked about arguments that do not fit", () =>
    Effect.gen(function*() {
      const { pay } = service()
      const { layer, log } = recording()
      yield* Effect.flip(Pay(pay).call.pipe(by({ order: "seven" }), Effect.provide(layer)))
      assert.deepStrictEqual(log, [])
    }))
})

describe("a fixer's arguments that wait for an approval", () => {
  /** Pays 500 only after an approval, under the key of the first arguments. */
  const paying = (tag: "InvalidArgs" | "ExecutionError", ownKey: boolean) => {
    const paid: Array<number> = []
    const execute = ({ amount }: { readonly amount: number }): Effect.Effect<string, Declined> =>
      Effect.suspend(() => {
        if (amount < 100) return Effect.fail(new Declined())
        paid.push(amount)
        return Effect.succeed(`paid ${amount}`)
      })
    const tool = Tool.make("pay", {
      parameters: Schema.Struct({ amount: Schema.Int }),
      success: Schema.String,
      effects: "write",
      needsApproval: ({ amount }) => amount > 100,
      idempotency: { key: ownKey ? () => "order-7" : undefined, rejected: ["Declined"] },
      execute
    })
    const fixer = Agent.fromFunction("fixer", () => Effect.succeed(`{"amount":500}`))
    return {
      paid,
      agent: Agent.make("a", {
        tools: [tool.pipe(Tool.onError(Recovery.fix(tag, fixer)))],
        defaults: { onError: Recovery.standard }
      })
    }
  }

  for (const tag of ["InvalidArgs", "ExecutionError"] as const) {
    for (const ownKey of [true, false]) {
      it.effect(`are paid once when approved (${tag}, ${ownKey ? "a key of the arguments" : "the default key"})`, () =>
        Effect.gen(function*() {
          const { agent, paid } = paying(tag, ownKey)
          const { entries, layer, log } = recording()
          const ledger = Effect.provide(Layer.fresh(layer))
          const paused = yield* agent.start("go").pipe(
            Effect.provide(ScriptedModel.layer([call("pay", { amount: tag === "InvalidArgs" ? "seven" : 7 })])),
            ledger
          )
          if (paused._tag !== "Paused") return assert.fail("did not pause")
          // The key is free while a person thinks about it.
          assert.strictEqual(entries.size, 0)
          assert.deepStrictEqual(log, tag === "InvalidArgs" ? [] : ["begin", "release"])
          assert.deepStrictEqual(paused.pending[0]?.arguments, { amount: 500 })

          // Approved twice, by processes that do not know of each other: the ledger does.
          const elsewhere = Effect.provideService(Approval.Resumptions, { claim: () => Effect.succeed(true) })
          for (let process = 1; process <= 2; process++) {
            const results = yield* Effect.gen(function*() {
              yield* agent.resume(JSON.parse(JSON.stringify(paused.snapshot)), [Approval.approve(paused.pending[0]!)])
              return lastResults((yield* (yield* ScriptedModel.ScriptedModel).lastRequest).prompt)
            }).pipe(elsewhere, Effect.provide(ScriptedModel.layer([text("ok")])), ledger)
            assert.deepStrictEqual(results.map(({ isFailure, result }) => [isFailure, result]), [[false, "paid 500"]])
          }
          assert.deepStrictEqual(paid, [500])
        }).pipe(Effect.provide(Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef")))))
    }
  }
})

describe("a call that was cut off", () => {
  /** A ledger in which the call of order 7 was started ten minutes ago, without an outcome. */
  const cutOff = Effect.gen(function*() {
    const { entries, layer, log } = recording()
    const { pay } = service()
    const first = yield* Effect.forkChild(
      Pay(pay, () => Effect.never).call.pipe(by({ order: 7 }), Effect.provide(layer)),
      { startImmediately: true }
    )
    while (entries.size === 0) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    yield* Fiber.interrupt(first)
    log.length = 0
    yield* TestClock.adjust("10 minutes")
    // Another layer of the same store, like in another process.
    return { entries, layer: Layer.fresh(layer), log }
  })

  const after = <E, R>(reconcile?: Effect.Effect<Reconciliation.Reconciliation<string>, E, R>) =>
    Effect.gen(function*() {
      const { layer, log } = yield* cutOff
      const { keys, pay } = service()
      const asked: Array<string> = []
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        idempotency: reconcile === undefined ? { key } : {
          key,
          reconcile: (entry, { order }) => {
            asked.push(`${entry.callId} ${order}`)
            return reconcile
          }
        },
        execute: () => pay()
      })
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
      const { last } = yield* (play(agent, [call("pay", { order: 7 }), text("ok")]) as Effect.Effect<
        Effect.Success<ReturnType<typeof play>>,
        never,
        IdempotencyLedger.IdempotencyLedger
      >).pipe(Effect.provide(layer))
      return { result: last[0]?.result, asked, keys, log }
    })

  it.effect("is an unknown outcome, and is not run again", () =>
    Effect.gen(function*() {
      const { keys, log, result } = yield* after()
      assert.strictEqual(code(result), "outcome_unknown")
      assert.deepStrictEqual(keys, [])
      assert.deepStrictEqual(log, ["begin"])
    }))

  it.effect("is answered with the finding of `reconcile`, which is recorded", () =>
    Effect.gen(function*() {
      const found = yield* after(Effect.succeed(Reconciliation.completed("payment 1")))
      assert.strictEqual(found.result, "payment 1")
      assert.deepStrictEqual(found.asked, ["c1 7"])
      assert.deepStrictEqual(found.keys, [])
      assert.deepStrictEqual(found.log, ["begin", "take", "complete"])
    }))

  it.effect("runs if `reconcile` found that it was not done", () =>
    Effect.gen(function*() {
      const found = yield* after(Effect.succeed(Reconciliation.notStarted))
      assert.strictEqual(found.result, "payment 1")
      assert.deepStrictEqual(found.keys, ["order-7"])
      assert.deepStrictEqual(found.log, ["begin", "take", "renew", "complete"])
    }))

  it.effect("lists only its own failure if `reconcile` found no effect", () =>
    Effect.gen(function*() {
      const { layer } = yield* cutOff
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        failure: Schema.Never,
        effects: "write",
        idempotency: { key, reconcile: () => Effect.succeed(Reconciliation.notStarted) },
        execute: () => Effect.fail(new Declined())
      })
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 7 }, "c2"), Effect.provide(layer)))
      assert.deepStrictEqual(
        (error as ToolError.OutcomeUnknown).causes.map(({ error, reason }) => [error, (reason as Declined)._tag]),
        [["ExecutionError", "Declined"]]
      )
    }))

  it.effect("stays unknown if `reconcile` cannot decide, or fails", () =>
    Effect.gen(function*() {
      for (const reconcile of [Effect.succeed(Reconciliation.unknown), Effect.fail(new Lost())]) {
        const found = yield* after(reconcile)
        assert.strictEqual(code(found.result), "outcome_unknown")
        assert.deepStrictEqual(found.keys, [])
      }
    }))

  it.effect("does not wait for itself when it is retried", () =>
    Effect.gen(function*() {
      const { layer, log } = yield* cutOff
      const { keys, pay } = service()
      const tool = Pay(pay).pipe(Tool.onError((call) => Effect.retry(call, { times: 2 })))
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 7 }, "c2"), Effect.provide(layer)))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      assert.deepStrictEqual(log, ["begin", "begin", "begin"])
      assert.deepStrictEqual(keys, [])
    }))

  it.effect("says how long ago it began", () =>
    Effect.gen(function*() {
      const { layer } = yield* cutOff
      const { pay } = service()
      const error = yield* Effect.flip(Pay(pay).call.pipe(by({ order: 7 }, "c2"), Effect.provide(layer)))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      if (error._tag === "OutcomeUnknown") assert.include(error.message, "10m")
    }))
})

describe("Recovery.idempotent", () => {
  const written = (execute: () => Effect.Effect<string, Lost>) =>
    Tool.make("pay", { parameters, success: Schema.String, effects: "write", execute })

  it.effect("runs once for each key, and does not make writes repeatable", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = written(() => Effect.suspend(() => ++runs === 1 ? Effect.fail(new Lost()) : Effect.succeed("paid")))
        .pipe(
          Tool.onError((call) => call.pipe(Effect.retry({ times: 3 }), Recovery.idempotent({ key: () => "k" })))
        )
      const first = yield* Effect.flip(tool.call.pipe(by({ order: 1 })))
      assert.strictEqual(first._tag, "OutcomeUnknown")
      const second = yield* Effect.flip(tool.call.pipe(by({ order: 1 }, "c2")))
      assert.strictEqual(second._tag, "OutcomeUnknown")
      assert.strictEqual(runs, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("speaks around the recovery within it", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = written(() => Effect.sync(() => `run ${++runs}`)).pipe(
        Tool.onError((call) =>
          call.pipe(
            Effect.catch(() => Effect.succeed("swallowed")),
            Recovery.idempotent({ key: () => "k" })
          )
        )
      )
      assert.strictEqual(yield* tool.call.pipe(by({ order: 1 })), "run 1")
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 2 }, "c2")))
      assert.strictEqual(error._tag, "IdempotencyConflict")
      assert.strictEqual(runs, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("can be declared by the agent", () =>
    Effect.gen(function*() {
      let runs = 0
      const agent = Agent.make("a", {
        tools: [written(() => Effect.sync(() => `run ${++runs}`))],
        onToolError: { pay: Recovery.idempotent({ key: ({ order }) => `${String(order)}` }) }
      })
      const { results } = yield* play(agent, [call("pay", { order: 1 }), call("pay", { order: 1 }), text("ok")])
      assert.deepStrictEqual(results.slice(1).map(([part]) => part?.result), ["run 1", "run 1"])
      assert.strictEqual(runs, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("arguments that a call made by hand gives", () => {
  const tool = (runs: Array<unknown>, parameters: Schema.Codec<unknown, unknown>) =>
    Tool.make("note", {
      parameters: Schema.Struct({ value: parameters }),
      success: Schema.Int,
      effects: "write",
      idempotency: { key: () => "k" },
      execute: ({ value }) => Effect.sync(() => runs.push(value))
    })

  const pairs: ReadonlyArray<readonly [string, Schema.Codec<any, any>, unknown, unknown]> = [
    ["dates", Schema.Date, new Date(1), new Date(2)],
    ["bigints", Schema.BigInt, 1n, 2n],
    ["bytes", Schema.Uint8Array, new Uint8Array([1]), new Uint8Array([2])],
    ["maps", Schema.ReadonlyMap(Schema.String, Schema.Int), new Map([["a", 1]]), new Map([["a", 2]])],
    ["numbers that JSON does not have", Schema.Number, Infinity, -Infinity]
  ]
  for (const [name, parameters, one, other] of pairs) {
    it.effect(`have distinct and stable hashes: ${name}`, () =>
      Effect.gen(function*() {
        const runs: Array<unknown> = []
        const { call } = tool(runs, parameters)
        yield* call.pipe(by({ value: one }))
        yield* call.pipe(by({ value: one }, "c2"))
        const conflict = yield* Effect.flip(call.pipe(by({ value: other }, "c3")))
        assert.strictEqual(conflict._tag, "IdempotencyConflict")
        assert.strictEqual(runs.length, 1)
      }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
  }

  it.effect("are invalid without a JSON form, and the call does not run", () =>
    Effect.gen(function*() {
      const runs: Array<unknown> = []
      const { call } = tool(runs, Schema.Unknown)
      const within: Record<string, unknown> = {}
      within["itself"] = within
      for (const value of [within, () => 1]) {
        const error = yield* Effect.flip(call.pipe(by({ value })))
        assert.strictEqual(error._tag, "InvalidArgs")
      }
      assert.deepStrictEqual(runs, [])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})
