/** Attempts of a call, each at its own door: under a key, refused in another life of their run, and executed. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, type Context, Duration, Effect, Exit, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { IdempotencyLedger, ToolError } from "@recourse/core"
import { openRecord } from "./openRecord.ts"

const room = new URL("../src/internal/", import.meta.url)
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
} = await load("call/oncePerKey.ts")
const { keysBefore }: {
  readonly keysBefore: (journal: object, run: object, tool: string, call: object, from: number) => ReadonlyArray<string>
} = await load("call/ownKeys.ts")
const { underEarlierKeys }: {
  readonly underEarlierKeys: (
    tool: object,
    attempt: object,
    run: Run,
    journal: object,
    verdicts: object
  ) => Effect.Effect<unknown, unknown> | undefined
} = await load("call/earlierKeys.ts")
const { stoppedUnlessBegun, unlessBegun }: {
  readonly unlessBegun: (
    tool: object,
    refused: object,
    refusal: Effect.Effect<unknown, unknown>
  ) => Effect.Effect<unknown, unknown>
  readonly stoppedUnlessBegun: (
    tool: object,
    refused: object,
    admitted: Effect.Effect<unknown>,
    then: (answer: unknown) => Effect.Effect<unknown>
  ) => Effect.Effect<unknown, unknown>
} = await load("call/refusedAgain.ts")
const { execute }: {
  readonly execute: (
    tool: object,
    attempt: object,
    params: unknown,
    key: string | undefined,
    isCharged: boolean
  ) => Effect.Effect<unknown, unknown>
} = await load("call/executor.ts")
const { DoneWrites }: {
  readonly DoneWrites: new(undoes: boolean, around: undefined) => {
    readonly newestFirst: () => ReadonlyArray<{ readonly write: Fields & { readonly id: string } }>
  }
} = await load("run/doneWrites.ts")

const runOf = (kept: Readonly<Record<string, unknown>> = {}, more: object = {}) => {
  const recorded: Array<readonly [key: string, value: unknown]> = []
  const run = {
    id: "r",
    agentRunId: "r",
    admitted: { version: 0, calls: new Map(), started: new Map() },
    scope: "r",
    path: ["a"],
    parent: undefined,
    withinCall: undefined,
    audience: undefined,
    tally: undefined,
    refunded: 0,
    account: { refund: () => void run.refunded++ },
    clock: { currentTimeMillisUnsafe: () => 7 },
    usage: { toolCalls: 0 },
    executed: [] as Array<Fields>,
    startedWrites: [],
    ledgerAnswers: new Map(),
    done: new DoneWrites(false, undefined),
    recorded,
    journal: {
      isResumed: true,
      find: (kind: string, key: string) => kept[`${kind} ${key}`],
      entries: (kind: string) =>
        Object.entries(kept).filter(([key]) => key.startsWith(`${kind} `)).map(([key, value]) => [
          key.slice(kind.length + 1),
          value
        ]),
      record: (_: string, key: string, value: unknown) => Effect.sync(() => void recorded.push([key, value])),
      claim: (entry: string) => `r ${entry}`
    },
    ...more
  }
  return run
}

const info = (more: object = {}) => ({ name: "pay", effects: "write", passesKey: true, ...more })
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
    Effect.succeed({ call, run, number: 1, context, announced: "nothing" as const })
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

/** A ledger that answers each claim as it is told, and what it was told. */
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

/** What an effect comes to within the time that a ledger takes. */
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
  it.effect("is one with an attempt beside it: the ledger is asked once", () =>
    Effect.gen(function*() {
      const ledger = ledgerOf(begun)
      const call = callOf()
      const both = Effect.all([under(call, undefined), under(call, undefined)], { concurrency: 2 })
      assert.deepStrictEqual(yield* ends(both, ledger), ["paid false", "paid false"])
      assert.strictEqual(ledger.asked.length, 1)
    }))

  it.effect("is in conflict with an attempt beside it that has another key", () =>
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

  it.effect("that only a ledger may answer has no key in the journal", () =>
    Effect.gen(function*() {
      const own = { ...plain, key: () => "order-1" }
      for (const lookupOnly of [true, undefined]) {
        const run = runOf({ "write key r/3:pay/c1@1": "another" })
        const ended = yield* ends(under(callOf({}, { lookupOnly }), run, own), ledgerOf(finished("other")))
        assert.deepStrictEqual([ended, run.recorded], [lookupOnly === true ? "earlier" : "unknown", []])
      }
    }))

  it.effect("may have been done where an earlier life gave it another key, and nothing runs for it then", () =>
    Effect.gen(function*() {
      const own = { ...plain, key: () => "order-1" }
      for (const at of [1, 2]) {
        const call = callOf()
        const run = runOf({ [`write key r/3:pay/c1@${at}`]: "another" })
        assert.strictEqual(yield* ends(under(call, run, own), ledgerOf(begun)), "unknown")
        const { closedBy, happened, running, startedAt } = call.record
        assert.deepStrictEqual([happened, running, startedAt, closedBy !== undefined], ["unknown", 0, 7, true])
      }
      // The same key at a later attempt is the same call.
      const first = runOf()
      yield* ends(under(callOf(), first, own), ledgerOf(begun))
      const later = runOf({ "write key r/3:pay/c1@2": first.recorded[0]![1] })
      assert.strictEqual(yield* ends(under(callOf(), later, own), ledgerOf(begun)), "paid false")
      // One that an earlier attempt had is that attempt's.
      const call = callOf({ count: 2 })
      const run = runOf({ "write key r/3:pay/c1@1": "another" })
      assert.strictEqual(yield* ends(under(call, run, own), ledgerOf(begun)), "paid false")
      assert.deepStrictEqual(run.recorded.map(([place]) => place), ["key r/3:pay/c1@2"])
    }))

  it.effect("has a place of its own in the journal, whether it is made by a model or by a tool", () =>
    Effect.gen(function*() {
      const run = runOf()
      const own = { ...plain, key: () => "order-1" }
      for (const  of of[{}, { id: "c2" }, { identity: "c1/x" }, { identity: "c1/y" }]) {
        yield* ends(under(callOf({}, of), run, own), ledgerOf(begun))
      }
      assert.deepStrictEqual(
        run.recorded.map(([place]) => place),
        ["c1", "c2", "c1/x", "c1/y"].map((call) => `key r/3:pay/${call}@1`)
      )
    }))

  it("is looked for under the keys of later attempts, in order, and under no other call's", () => {
    const kept = {
      "write key r/3:pay/c1@1": "a",
      "write key r/3:pay/c1@3": "c",
      "write key r/3:pay/c1@x@2": "other",
      "write key r/3:pay/c2@2": "other",
      "write key r/3:pay/c1@4": { not: "a key" },
      "child key r/3:pay/c1@5": "no key"
    }
    const before = (from: number, more: object = {}, call = callOf()) => {
      const run = runOf(kept)
      return keysBefore({ ...run.journal, ...more }, run, "pay", call, from)
    }
    assert.deepStrictEqual([before(1), before(2), before(3), before(4)], [["a", "c"], ["c"], ["c"], []])
    const silent = { entries: undefined }
    // A journal that lists nothing is asked for them, also behind attempts that had none.
    assert.deepStrictEqual([before(1, silent), before(2, silent), before(4, silent)], [["a", "c"], ["c"], []])
    assert.deepStrictEqual(before(1, {}, callOf({}, { identity: "c2" })), ["other"])
  })
})

describe("the answer of a ledger to a call that can be undone", () => {
  const undoable = { ...info(), compensation: {} }

  it.effect("is noted of what the call, or its run, has done, and not of what another run has", () =>
    Effect.gen(function*() {
      const noted = (idempotency: object, claim: string, journal = true) =>
        Effect.gen(function*() {
          const run = runOf({}, journal ? {} : { journal: undefined })
          assert.strictEqual(
            yield* ends(under(callOf({ tool: undoable }), run, idempotency), ledgerOf(finished(claim))),
            "earlier"
          )
          return run.done.newestFirst().map(({ write: { id, intent, known } }) => {
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

  it.effect("is counted where an earlier life of the run has executed it, once", () =>
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

  it.effect("is what was found out about it: it is done, and has its result", () =>
    Effect.gen(function*() {
      const reconcile = () => Effect.succeed({ _tag: "Happened", result: "found" })
      for (const tool of [info(), undoable]) {
        const call = callOf({ tool })
        const run = runOf()
        const ledger = ledgerOf(abandoned)
        assert.strictEqual(yield* ends(under(call, run, { ...plain, reconcile }), ledger), "found")
        const { answered, executed, happened, known } = call.record
        assert.deepStrictEqual([executed, happened, known, answered], [true, "yes", "yes", { value: "found" }])
        assert.deepStrictEqual(ledger.completed.map(([tag]) => tag), ["Result"])
        assert.strictEqual(run.done.newestFirst().length, tool === undoable ? 1 : 0)
      }
    }))
})

describe("a call that another life may have begun", () => {
  const refusal = Effect.succeed("refused")
  const keyed = toolOf({ idempotency: plain })
  const begunAgain = () => ({ _tag: "Begun", isAgain: true })
  const refused = (call: Call, run: Run, params: unknown = {}) =>
    Effect.map(attemptOf(call, run), (attempt) => ({ attempt, params, raw: { n: 1 }, refusals: verdicts }))
  const ended = (call: Call, run: Run, ledger: Ledger, params?: unknown) =>
    Effect.flatMap(refused(call, run, params), (one) => ends(unlessBegun(keyed, one, refusal), ledger))

  it.effect("is refused as it would have been where it has not begun, and leaves no entry", () =>
    Effect.gen(function*() {
      const ledger = ledgerOf(begun)
      assert.strictEqual(yield* ended(callOf({ mayHaveBegun: true }), runOf(), ledger), "refused")
      assert.deepStrictEqual(ledger.completed.map(([tag]) => tag), ["Released"])
      // Neither is one of this life's own looked for, nor one that only a ledger may answer.
      for (const call of [callOf(), callOf({ mayHaveBegun: true }, { lookupOnly: true })]) {
        const silent = ledgerOf(begun)
        assert.strictEqual(yield* ended(call, runOf(), silent), "refused")
        assert.deepStrictEqual(silent.asked, [])
      }
    }))

  it.effect("is unknown where it has begun, and nothing runs for it", () =>
    Effect.gen(function*() {
      for (const params of [{}, undefined]) {
        const call = callOf({ mayHaveBegun: true })
        const ledger = ledgerOf(begunAgain)
        const one = yield* refused(call, runOf(), params)
        const exit = yield* ends(unlessBegun(keyed, { ...one, params }, refusal), ledger)
        const { happened, running, startedAt } = call.record
        assert.deepStrictEqual([exit, happened, running, startedAt], ["unknown", "unknown", 0, 7])
        assert.deepStrictEqual(ledger.completed, [], "its key stays taken")
      }
    }))

  it.effect("is asked about only where it was itself stopped, and only its own stop is taken back", () =>
    Effect.gen(function*() {
      const stops = (call: Call, admitted: Effect.Effect<unknown>) =>
        Effect.gen(function*() {
          const ledger = ledgerOf(finished("other"))
          const one = yield* refused(call, runOf())
          const exit = yield* ends(stoppedUnlessBegun(keyed, one, admitted, Effect.succeed), ledger)
          return [exit, ledger.asked.length]
        })
      const denied = { _tag: "Denied", policy: "p", reason: "no" }
      const [other, parent, free] = [newRecord("x"), newRecord("p"), newRecord("q")]
      parent["stop"] = { ...denied, of: other }
      free["parent"] = parent
      const call = callOf({ parent: free })
      parent["mayHaveBegun"] = true
      const stop = (more: object = {}) =>
        Effect.suspend(() => (call.record["stop"] = { ...denied, ...more }, Effect.interrupt))
      assert.deepStrictEqual(yield* stops(call, stop()), ["earlier", 1])
      assert.deepStrictEqual([call.record["stop"], (parent["stop"] as Fields)["of"]], [undefined, other])
      free["stop"] = { ...denied, of: call.record }
      yield* stops(call, stop())
      assert.isUndefined(free["stop"])
      assert.strictEqual((yield* stops(call, stop({ of: other })))[1], 0)
      call.record["stop"] = undefined
      assert.strictEqual((yield* stops(call, Effect.interrupt))[1], 0)
      call.record["stop"] = denied
      assert.deepStrictEqual(yield* stops(call, Effect.die("broken")), ["broken", 0])
      assert.deepStrictEqual(yield* stops(call, Effect.succeed("let on")), ["let on", 0])
    }))

  const looked = (call: Call, run: Run, ledger: Ledger, tool: object = toolOf()) =>
    Effect.flatMap(attemptOf(call, run), (attempt) => {
      const look = underEarlierKeys(tool, attempt, run, run.journal, verdicts)
      return look === undefined ? Effect.succeed("not looked for") : ends(look, ledger)
    })

  it.effect("is looked for under other keys once, whether it was executed or not", () =>
    Effect.gen(function*() {
      for (const executed of [false, true]) {
        const [call, run, ledger] = [callOf({ mayHaveBegun: true, executed }), runOf(), ledgerOf(begun)]
        assert.isUndefined(yield* looked(call, run, ledger))
        assert.strictEqual(yield* looked(call, run, ledger), "not looked for")
        assert.strictEqual(ledger.asked.length, 1)
        assert.deepStrictEqual(ledger.completed.map(([tag]) => tag), ["Released"])
      }
      const never: ReadonlyArray<readonly [Call, object]> = [
        [callOf(), toolOf()],
        [callOf({ mayHaveBegun: true }, { lookupOnly: true }), toolOf()],
        [callOf({ mayHaveBegun: true }), toolOf({ info: info({ isAgent: true }) })]
      ]
      for (const [call, tool] of never) {
        assert.strictEqual(yield* looked(call, runOf(), ledgerOf(begun), tool), "not looked for")
      }
    }))

  it.effect("is what it has come to under another key, whatever its arguments are today", () =>
    Effect.gen(function*() {
      const done = yield* looked(callOf({ mayHaveBegun: true }), runOf(), ledgerOf(finished("other")))
      assert.deepStrictEqual(done, { value: "earlier" })
      for (const args of [{ n: 1 }, "no JSON"]) {
        const [call, run] = [callOf({ mayHaveBegun: true }, { arguments: args }), runOf()]
        assert.strictEqual(yield* looked(call, run, ledgerOf(begunAgain)), "unknown")
        const { closedBy, happened, running, startedAt } = call.record
        assert.deepStrictEqual([happened, running, startedAt, closedBy !== undefined], ["unknown", 0, 7, true])
        assert.deepStrictEqual([run.usage.toolCalls, run.executed.map(({ outcome }) => outcome)], [1, ["unknown"]])
      }
    }))
})

describe("an execution", () => {
  const executed = (call: Call, run: Run | undefined, more: object = {}, isCharged = true) =>
    Effect.flatMap(
      attemptOf(call, run),
      (attempt) =>
        ends(
          execute(toolOf({ info: info({ passesKey: false }), ...more }), attempt, {}, undefined, isCharged),
          ledgerOf(begun)
        )
    )

  it.effect("does not begin where its call was stopped or executed meanwhile, and its charge is given back", () =>
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

  it.effect("that is not begun in time, as whoever hears of its refusal takes long, is a timeout", () =>
    Effect.gen(function*() {
      const ears = [{ tell: () => Effect.sleep("10 seconds") }]
      const run = runOf({}, { audience: { ears, told: { events: 0, isOver: false }, details: false }, taintedBy: [] })
      const call = callOf({ tool: info({ passesKey: false }), executed: true, answered: { value: "paid" } })
      const ended = yield* executed(call, run, { timeout: Duration.seconds(1) })
      assert.strictEqual((ended as { readonly _tag?: string })._tag, "Timeout")
    }))

  it.effect("of what can be undone has its place where it began; by hand it has none", () =>
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
              {},
              undefined,
              true
            )
        )
      yield* ends(
        Effect.all([slow("first", 2_000), slow("second", 1_000)], { concurrency: 2, discard: true }),
        ledgerOf(begun)
      )
      assert.deepStrictEqual(run.done.newestFirst().map(({ write }) => write.id.split("/").at(-1)), [
        "second@second",
        "first@first"
      ])
      assert.strictEqual(yield* executed(callOf({ tool: undoable }), undefined, { info: undoable }, false), "paid")
    }))

  it.effect("takes back what answered in its place, unless another attempt runs beside it", () =>
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

describe("a call of which nothing is known", () => {
  it("has begun nothing, and was not looked for", () => {
    const { executed, happened, isFix, isRetryPaid, isSought, mayHaveBegun, running } = newRecord("c1")
    assert.deepStrictEqual(
      [executed, happened, isFix, isRetryPaid, isSought, mayHaveBegun, running],
      [false, "no", false, false, false, false, 0]
    )
  })
})
