/**
 * Attempts of a call, each by its own interface: under a key, refused in another execution of the run, and executed.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, type Context, Duration, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { IdempotencyLedger, ToolError } from "@recourse/core"
import { openRecord } from "../support/openRecord.ts"
import { openRun } from "../support/openRun.ts"

const room = new URL("../../src/internal/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

type Fields = Record<string, unknown>
type Run = ReturnType<typeof runOf>

interface Call {
  readonly id: string
  readonly record: Fields
}

const newRecord = (id: string, made?: object): Fields => openRecord<Fields>(id, made)
const { oncePerKey }: {
  readonly oncePerKey: (
    idempotency: object,
    asking: object,
    verdicts: object,
    execute: (key: string, isAgain: boolean) => Effect.Effect<unknown, unknown>
  ) => Effect.Effect<unknown, unknown>
} = await load("call/ledger/oncePerKey.ts")
const { execute }: {
  readonly execute: (
    tool: object,
    attempt: object,
    isCharged: boolean
  ) => Effect.Effect<unknown, unknown>
} = await load("call/execute/executeTool.ts")
const { CompletedWrites }: {
  readonly CompletedWrites: new() => {
    readonly newestFirst: (run: object) => ReadonlyArray<{ readonly write: Fields & { readonly id: string } }>
  }
} = await load("run/writes/completedWrites.ts")
const { RunLog }: { readonly RunLog: new(journal: object) => object } = await load("run/runLog.ts")

const runOf = (kept: Readonly<Record<string, unknown>> = {}, more: object = {}) => {
  const recorded: Array<readonly [key: string, value: unknown]> = []
  const run = openRun({
    id: "r",
    agentRunId: "r",
    scope: "r",
    path: ["a"],
    parent: undefined,
    outerCall: undefined,
    audience: undefined,
    tally: undefined,
    refunded: 0,
    account: { refund: () => void run.refunded++ },
    clock: { currentTimeMillisUnsafe: () => 7 },
    usage: { toolCalls: 0 },
    executed: [] as Array<Fields>,
    completed: new CompletedWrites(),
    recorded,
    log: new RunLog({
      isResumed: true,
      find: (kind: string, key: string) => kept[`${kind} ${key}`],
      entries: (kind: string) =>
        Object.entries(kept).filter(([key]) => key.startsWith(`${kind} `)).map(([key, value]) => [
          key.slice(kind.length + 1),
          value
        ]),
      record: (_: string, key: string, value: unknown) => Effect.sync(() => void recorded.push([key, value])),
      claim: (entry: string) => `r ${entry}`
    }),
    ...more
  })
  return run
}

const info = (more: object = {}) => ({
  name: "pay",
  effects: "write",
  passesKey: true,
  results: { areUntrusted: false },
  ...more
})
const toolOf = (more: object = {}) => ({
  info: info(),
  success: Schema.String,
  idempotency: undefined,
  timeout: undefined,
  execute: () => Effect.succeed("paid"),
  ...more
})

const callOf = (more: object = {}, of: object = {}): Call & Fields => ({
  id: "c1",
  arguments: { n: 1 },
  attempt: 1,
  record: Object.assign(newRecord("c1"), { tool: info(), count: 1 }, more),
  ...of
})

const attemptOf = (call: Call, run: Run | undefined) =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.succeed({ call, run, number: 1, context, emitted: { last: "nothing" as const }, params: {} })
  )

const verdicts = {
  conflict: () => Effect.fail("conflict"),
  unavailable: () => Effect.fail("unavailable"),
  unknown: () => Effect.fail("unknown")
}

const plain = { key: undefined, id: undefined, timeToLive: Duration.hours(1), rejected: [], reconcile: undefined }

interface Ledger {
  readonly asked: Array<string>
  readonly completed: Array<readonly [tag: string, timeToLive: unknown]>
  readonly service: object
}

/** A ledger with configured answers to claims, and its requests. */
const ledgerOf = (answer: (intent: Fields) => object, more: object = {}): Ledger => {
  const asked: Array<string> = []
  const completed: Ledger["completed"] = []
  const claimOf = (intent: Fields) => ({
    intent,
    confirm: Effect.succeed(true),
    take: () => Effect.succeed(true),
    resume: Effect.succeed(true),
    complete: (outcome: { readonly _tag: string }, timeToLive: unknown) =>
      Effect.sync(() => (completed.push([outcome._tag, timeToLive]), "recorded")),
    release: Effect.sync(() => void completed.push(["Released", undefined])),
    ...more
  })
  const claim = (intent: Fields, onHeld: (settle: Effect.Effect<void>) => void) =>
    Effect.suspend(() => {
      asked.push(String(intent["id"]))
      onHeld(Effect.void)
      return Effect.delay(Effect.succeed({ claim: claimOf(intent), ...answer(intent) }), "1 second")
    })
  return { asked, completed, service: { claim } }
}

const entryOf = (claim: string) => ({ id: "e", tool: "pay", callId: "c1", arguments: "h", claim })
const begun = () => ({ _tag: "Begun", isAgain: false })
const abandoned = () => ({ _tag: "Abandoned", entry: entryOf("other"), sinceMillis: 5 })
const finished = (claim: string) => () => ({
  _tag: "Finished",
  entry: entryOf(claim),
  sinceMillis: 5,
  waited: false,
  outcome: { _tag: "Result", value: "earlier" }
})

/** Exit of an effect within a ledger's time limit. */
const ends = <A, E>(effect: Effect.Effect<A, E>, ledger: Ledger) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(
      Effect.exit(Effect.provideService(effect, IdempotencyLedger.IdempotencyLedger, ledger.service as never))
    )
    yield* TestClock.adjust("1 minute")
    const exit = yield* Fiber.join(fiber)
    return Exit.isSuccess(exit) ? exit.value : Cause.squash(exit.cause)
  })

const under = (call: Call, run: Run | undefined, idempotency: object = plain, answer: unknown = "paid") => {
  const { record } = call
  return oncePerKey(
    idempotency,
    { call, run, tool: "pay", params: {}, raw: { n: 1 }, success: Schema.String },
    verdicts,
    (key, isAgain) =>
      Effect.sync(() => {
        Object.assign(record, { executed: true, happened: "yes", known: "yes" })
        return `${String(answer)} ${key.length > 0 ? isAgain : "no key"}`
      })
  )
}

describe("an attempt under a key", () => {
  it.effect("shares one ledger request with a parallel attempt", () =>
    Effect.gen(function*() {
      const ledger = ledgerOf(begun)
      const call = callOf()
      const both = Effect.all([under(call, undefined), under(call, undefined)], { concurrency: 2 })
      assert.deepStrictEqual(yield* ends(both, ledger), ["paid false", "paid false"])
      assert.strictEqual(ledger.asked.length, 1)
    }))

  it.effect("conflicts with a parallel attempt of another key", () =>
    Effect.gen(function*() {
      const ledger = ledgerOf(begun)
      const call = callOf()
      const of = (key: string) => ({ ...plain, key: () => key })
      const slow = Effect.delay(Effect.void, "2 seconds")
      const first = oncePerKey(
        of("a"),
        { call, run: undefined, tool: "pay", params: {}, raw: { n: 1 }, success: Schema.String },
        verdicts,
        () => Effect.as(slow, "paid")
      )
      const second = Effect.exit(under(call, undefined, of("b")))
      const [one, other] = (yield* ends(Effect.all([first, second], { concurrency: 2 }), ledger)) as ReadonlyArray<
        unknown
      >
      assert.deepStrictEqual([one, other], ["paid", Exit.fail("conflict")])
    }))
})

describe("the answer of a ledger to a compensable call", () => {
  const undoable = { ...info(), compensation: {} }

  it.effect("is recorded for writes of the call or run, not of others", () =>
    Effect.gen(function*() {
      const noted = (idempotency: object, claim: string, journal = true) =>
        Effect.gen(function*() {
          const run = runOf({}, journal ? {} : { log: undefined })
          assert.strictEqual(
            yield* ends(under(callOf({ tool: undoable }), run, idempotency), ledgerOf(finished(claim))),
            "earlier"
          )
          return run.completed.newestFirst(run).map(({ write: { id, intent, known } }) => {
            assert.deepStrictEqual([id, intent], ["r/3:pay/c1", entryOf(claim)])
            return known
          })
        })
      const own = { ...plain, key: () => "order-1" }
      assert.deepStrictEqual(yield* noted(plain, "other"), ["done"])
      assert.deepStrictEqual(yield* noted(plain, "other", false), ["done"])
      assert.deepStrictEqual(yield* noted(own, "r e"), ["done"])
      assert.deepStrictEqual(yield* noted(own, "other"), [])
      assert.deepStrictEqual(yield* noted({ ...plain, id: "e" }, "other"), [])
      assert.deepStrictEqual(yield* noted({ ...plain, id: "e" }, "r e"), ["done"])
    }))

  it.effect("counts once if an earlier execution of the run executed it", () =>
    Effect.gen(function*() {
      const counted = (claim: string, more: object = {}) =>
        Effect.gen(function*() {
          const [call, run] = [callOf(more), runOf()]
          assert.strictEqual(yield* ends(under(call, run), ledgerOf(finished(claim))), "earlier")
          const { happened, running, startedAt } = call.record
          return [run.usage.toolCalls, run.executed.map(({ outcome }) => outcome), happened, running, startedAt]
        })
      assert.deepStrictEqual(yield* counted("r e"), [1, ["success"], "yes", 0, 7])
      assert.deepStrictEqual((yield* counted("other")).slice(0, 2), [0, []])
      assert.deepStrictEqual((yield* counted("r e", { executed: true })).slice(0, 2), [0, []])
    }))

  it.effect("is the reconciled finding: it is done, and has its result", () =>
    Effect.gen(function*() {
      const reconcile = () => Effect.succeed({ _tag: "Completed", result: "found" })
      for (const tool of [info(), undoable]) {
        const call = callOf({ tool })
        const run = runOf()
        const ledger = ledgerOf(abandoned)
        assert.strictEqual(yield* ends(under(call, run, { ...plain, reconcile }), ledger), "found")
        const { answered, executed, happened, known } = call.record
        assert.deepStrictEqual([executed, happened, known, answered], [true, "yes", "yes", { value: "found" }])
        assert.deepStrictEqual(ledger.completed.map(([tag]) => tag), ["Result"])
        assert.strictEqual(run.completed.newestFirst(run).length, tool === undoable ? 1 : 0)
      }
    }))
})

describe("an execution", () => {
  const executed = (call: Call, run: Run | undefined, more: object = {}, isCharged = true) =>
    Effect.flatMap(
      attemptOf(call, run),
      (attempt) =>
        ends(
          execute(toolOf({ info: info({ passesKey: false }), ...more }), attempt, isCharged),
          ledgerOf(begun)
        )
    )

  it.effect("does not start if stopped or executed meanwhile, and is refunded", () =>
    Effect.gen(function*() {
      let runs = 0
      const more = { execute: () => Effect.sync(() => ++runs) }
      const lastError = new ToolError.Timeout({
        tool: "pay",
        callId: "c1",
        attempt: 1,
        causes: [],
        after: Duration.seconds(1)
      })
      const tool = info({ passesKey: false })
      const cases: ReadonlyArray<readonly [of: object, end: unknown]> = [
        [{ stop: { _tag: "Denied", policy: "p", reason: "no" } }, undefined],
        [{ tool, executed: true, happened: "no", lastError }, lastError]
      ]
      for (const [of, end] of cases) {
        for (const [run, isCharged] of [[runOf(), true], [runOf(), false], [undefined, false]] as const) {
          const ended = yield* executed(callOf(of), run, more, isCharged)
          if (end !== undefined) assert.strictEqual(ended, end)
          assert.deepStrictEqual([runs, run?.refunded ?? 0], [0, isCharged ? 1 : 0])
        }
      }
    }))

  it.effect("that starts late because of a slow listener is a timeout", () =>
    Effect.gen(function*() {
      const sinks = [{ emit: () => Effect.sleep("10 seconds") }]
      const run = runOf({}, {
        audience: { sinks, emitted: { events: 0, isOver: false }, details: false },
        taintedBy: []
      })
      const call = callOf({ tool: info({ passesKey: false }), executed: true, answered: { value: "paid" } })
      const ended = yield* executed(call, run, { timeout: Duration.seconds(1) })
      assert.strictEqual((ended as { readonly _tag?: string })._tag, "Timeout")
    }))

  it.effect("that is compensable has its start's position; by hand none", () =>
    Effect.gen(function*() {
      const undoable = info({ passesKey: false, compensation: {} })
      const run = runOf()
      const slow = (call: string, millis: number) =>
        Effect.flatMap(
          attemptOf(
            callOf({ tool: undoable }, { id: call, record: Object.assign(newRecord(call), { tool: undoable }) }),
            run
          ),
          (attempt) =>
            execute(
              toolOf({ info: undoable, execute: () => Effect.delay(Effect.succeed("paid"), millis) }),
              attempt,
              true
            )
        )
      yield* ends(
        Effect.all([slow("first", 2_000), slow("second", 1_000)], { concurrency: 2, discard: true }),
        ledgerOf(begun)
      )
      assert.deepStrictEqual(run.completed.newestFirst(run).map(({ write }) => write.id.split("/").at(-1)), [
        "second@second",
        "first@first"
      ])
      assert.strictEqual(yield* executed(callOf({ tool: undoable }), undefined, { info: undoable }, false), "paid")
    }))

  it.effect("reverts its replacement's answer, unless another attempt runs", () =>
    Effect.gen(function*() {
      const degraded = { source: "cache" }
      const seen: Array<unknown> = []
      const of = (more: object, end: Effect.Effect<unknown, unknown>) =>
        Effect.gen(function*() {
          const tool = info({ effects: "read", passesKey: false })
          const call = callOf({ tool, ...more })
          const execute = () => Effect.suspend(() => (seen.push(call.record["degraded"]), end))
          yield* executed(call, runOf(), { info: tool, execute })
          return [seen.pop(), call.record["degraded"]]
        })
      assert.deepStrictEqual(yield* of({ degraded }, Effect.succeed("paid")), [undefined, undefined])
      assert.deepStrictEqual(yield* of({ degraded, running: 1 }, Effect.succeed("paid")), [degraded, degraded])
      assert.deepStrictEqual(yield* of({ degraded, running: 1 }, Effect.fail("no")), [degraded, undefined])
    }))
})
