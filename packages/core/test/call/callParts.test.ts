/**
 * Parts of a call, each by its own interface: completed writes, ledger lookups, refusals, decoded and deleted entries.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Logger, References, Schema } from "effect"
import { IdempotencyLedger, ToolCall, ToolError } from "@recourse/core"
import { openRecord } from "../support/openRecord.ts"
import { openRun } from "../support/openRun.ts"

const room = new URL("../../src/internal/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

interface Write {
  readonly id: string
  readonly known: string
}

interface Done {
  readonly get: (id: string) => { readonly write: Write } | undefined
  readonly state: (run: object) => ReadonlyArray<Write>
}

interface Call {
  readonly id: string
  readonly arguments: unknown
  readonly idempotency?: object
  readonly record: Record<string, unknown>
}

const { CompletedWrites }: { readonly CompletedWrites: new() => Done } = await load(
  "run/writes/completedWrites.ts"
)
const { writeOfStart, encodedResult, noteCompensable }: {
  readonly writeOfStart: (executed: object) => Write | undefined
  readonly encodedResult: (success: Schema.Top, value: unknown) => Effect.Effect<Schema.Json | undefined>
  readonly noteCompensable: (executed: object, exit: Exit.Exit<unknown, unknown>) => void
} = await load("call/compensableWrite.ts")
const { underKeyOf }: {
  readonly underKeyOf: (write: object, during: number, compensate: Effect.Effect<void>) => Effect.Effect<void>
} = await load("call/ledger/compensatedKey.ts")
const forgotten = (write: object) => underKeyOf(write, 1000, Effect.void)
const { askLedgerOnly, isKeyed, notInLedger }: {
  readonly askLedgerOnly: <A>(
    call: Call,
    effect: Effect.Effect<A, unknown, ToolCall.ToolCall>
  ) => Effect.Effect<Exit.Exit<A, unknown> | undefined>
  readonly isKeyed: (call: Call) => boolean
  readonly notInLedger: Effect.Effect<never>
} = await load("call/ledger/ledgerLookup.ts")
const { signal }: { readonly signal: (value: object) => Effect.Effect<never> } = await load(
  "foundation/effect/signal.ts"
)
const { refuse, refused }: {
  readonly refuse: (call: Call, run: object | undefined) => Effect.Effect<unknown, unknown>
  readonly refused: (call: Call, run: object, ended: Exit.Exit<unknown>, because?: string) => Effect.Effect<void>
} = await load("call/refusal.ts")
const newRecord = (id: string, made?: object): Record<string, unknown> => openRecord(id, made)
const { asJson }: {
  readonly asJson: (schema: Schema.Top, raw: object, params: unknown) => Effect.Effect<object, ReadonlyArray<object>>
} = await load("call/arguments/toolArguments.ts")
const { parametersOf }: {
  readonly parametersOf: (
    schema: Schema.Top
  ) => Effect.Effect<unknown, { readonly issues: ReadonlyArray<object> }, ToolCall.ToolCall>
} = await load("call/execute/lastParameters.ts")
const read = { name: "look", effects: "read", passesKey: false }
const write = { name: "book", effects: "write", passesKey: false, compensation: {} }

const callOf = (tool: object | undefined, more: object = {}): Call => {
  const record = newRecord("c1")
  record["tool"] = tool
  return { id: "c1", arguments: { n: 1 }, record: Object.assign(record, more) }
}

describe("the recorded effect of an execution", () => {
  const error = { tool: "book", callId: "c1", attempt: 1, causes: [] }
  const noted = {
    id: "r/4:book/c1@c1",
    tool: "book",
    scope: "r",
    identity: "c1",
    callId: "c1",
    root: "c1",
    path: ["a"],
    arguments: { n: 1 }
  }
  const note = (
    exit: Exit.Exit<unknown, unknown>,
    { encoded, happened = "unknown", ...more }: {
      readonly encoded?: Schema.Json
      readonly happened?: string
      readonly claim?: object
    } = {},
    run = openRun({ scope: "r", path: ["a"], completed: new CompletedWrites(), parent: undefined }),
    live: object | undefined = { params: {}, context: Context.empty() }
  ) => {
    const call = callOf(write, { happened, ...more })
    noteCompensable({ call, encoded, info: write, isKeyed: false, live, position: undefined, run }, exit)
    return run.completed.state(run)
  }

  it("records an effect with its known state only", () => {
    const intent = { id: "e", tool: "book", callId: "c1", arguments: "h", claim: "x" }
    const cases: ReadonlyArray<readonly [exit: Exit.Exit<unknown, unknown>, more: object, noted: object | undefined]> =
      [
        [Exit.succeed("ok"), { encoded: "ok" }, { known: "done", result: "ok" }],
        [Exit.succeed("ok"), {}, { known: "done" }],
        [Exit.succeed("ok"), { claim: { intent } }, { known: "done", intent }],
        [Exit.fail("no"), { encoded: "ok" }, { known: "unknown" }],
        [Exit.interrupt(1), { encoded: "ok" }, { known: "unknown" }],
        [Exit.die("no"), {}, { known: "unknown" }],
        [Exit.fail("no"), { happened: "no" }, undefined],
        [Exit.fail(new ToolError.Pending({ ...error, taskId: "t" })), { happened: "yes" }, { known: "pending" }],
        [
          Exit.fail(new ToolError.PartialSuccess({ ...error, succeeded: [], failed: [] })),
          { happened: "yes" },
          { known: "partial" }
        ]
      ]
    for (const [exit, more, known] of cases) {
      assert.deepStrictEqual(note(exit, more), (known === undefined ? [] : [{ ...noted, ...known }]) as never)
    }
  })

  it("uses this process's memory before the stored entry", () => {
    const run = openRun({ scope: "r", path: ["a"], completed: new CompletedWrites(), parent: undefined })
    const known = (exit: Exit.Exit<unknown, unknown>, live?: object) =>
      note(exit, {}, run, live).map(({ known }) => known)
    const here = { params: {}, context: Context.empty() }
    assert.deepStrictEqual(known(Exit.fail("no"), undefined), ["unknown"])
    assert.deepStrictEqual(known(Exit.succeed(1), undefined), ["done"])
    noteCompensable(
      { call: callOf(write, { happened: "unknown" }), info: write, isKeyed: false, live: undefined, run },
      Exit.fail("no")
    )
    assert.deepStrictEqual(run.completed.state(run).map(({ known }) => known), ["done"])
    assert.deepStrictEqual(known(Exit.fail("no"), here), ["unknown"])
    // It is known now not to have happened.
    assert.deepStrictEqual(note(Exit.fail("no"), { happened: "no" }, run, here), [])
  })

  it("records no effect if no tool can compensate it", () => {
    const completed = new CompletedWrites()
    const executed = (info: object, run: object | undefined) => ({
      call: callOf(info),
      info,
      isKeyed: false,
      live: undefined,
      run
    })
    const run = openRun({ scope: "r", path: ["a"], completed, parent: undefined })
    for (
      const one of [
        executed({ ...write, compensation: undefined }, run),
        executed(write, undefined),
        executed(write, openRun({ scope: "r", path: ["a"], parent: undefined }))
      ]
    ) {
      noteCompensable(one, Exit.succeed(1))
      assert.isUndefined(writeOfStart(one))
    }
    assert.deepStrictEqual(completed.state(run), [])
    assert.deepStrictEqual(writeOfStart(executed(write, run)), { ...noted, known: "unknown" } as never)
  })

  it.effect("is kept as JSON, if JSON holds it", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* encodedResult(Schema.Date, new Date(0)), "1970-01-01T00:00:00.000Z")
      assert.strictEqual(yield* encodedResult(Schema.Void, undefined), null)
      assert.isUndefined(yield* encodedResult(Schema.Int, "text"))
    }))
})

describe("the key of a compensated write", () => {
  const told = (forget: (intent: unknown) => Effect.Effect<void, unknown>, intent: object | undefined) =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ fiber, message }) => {
        logged.push([Array.isArray(message) ? message[0] : message, fiber.getRef(References.CurrentLogAnnotations)])
      })
      yield* forgotten({ callId: "c1", tool: "book", intent }).pipe(
        Effect.provideService(IdempotencyLedger.IdempotencyLedger, { forget } as never),
        Effect.provide(Logger.layer([logger]))
      )
      return logged
    })

  it.effect("is deleted; a failed deletion is logged and fails no call", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const intent = { id: "e" }
      const forget = (one: unknown) => Effect.sync(() => void asked.push(one))
      assert.deepStrictEqual([yield* told(forget, intent), yield* told(forget, undefined), asked], [[], [], [intent]])
      const warned = [[
        "A write is compensated, and the idempotency ledger still answers that it is done",
        { call_id: "c1", tool: "book" }
      ]]
      assert.deepStrictEqual(yield* told(() => Effect.fail("full"), intent), warned)
      assert.deepStrictEqual(yield* told(() => Effect.die("broken"), intent), warned)
      yield* forgotten({ callId: "c1", tool: "book", intent })
    }))
})

describe("a call that only its ledger may answer", () => {
  it.effect("ends without an answer if the ledger has none, else normally", () =>
    Effect.gen(function*() {
      const call = callOf(write, { count: 2 })
      assert.isUndefined(yield* askLedgerOnly(call, notInLedger))
      assert.strictEqual(call.record["count"], 0)
      call.record["count"] = 1
      for (const ended of [Effect.succeed(1), Effect.fail("no"), signal({ _tag: "Other" })]) {
        assert.isDefined(yield* askLedgerOnly<number>(call, ended))
      }
      assert.strictEqual(call.record["count"], 1)
      const lookupOnly = yield* askLedgerOnly(
        call,
        Effect.map(ToolCall.ToolCall, (call) => (call as { lookupOnly?: true }).lookupOnly)
      )
      assert.deepStrictEqual(lookupOnly, Exit.succeed(true))
    }))

  it("lets only the ledger answer a call under a key", () => {
    assert.deepStrictEqual(
      [
        callOf(undefined),
        callOf(write),
        callOf({ ...write, passesKey: true }),
        { ...callOf(undefined), idempotency: {} },
        { ...callOf(read), idempotency: {} }
      ].map(isKeyed),
      [false, false, true, true, true]
    )
  })
})

describe("an attempt that may not run", () => {
  it.effect("ends like the last attempt, or with the state of an unknown one", () =>
    Effect.gen(function*() {
      const ends = (call: Call) =>
        Effect.map(Effect.exit(refuse(call, undefined)), (exit) =>
          Exit.isSuccess(exit)
            ? exit.value
            : Cause.hasInterrupts(exit.cause)
            ? "interrupted"
            : (Cause.squash(exit.cause) as { readonly _tag: string })._tag)
      const unknown = "OutcomeUnknown"
      const cases: ReadonlyArray<readonly [Call, unknown]> = [
        [callOf(write, { answered: { value: "said" }, lastError: { _tag: "Late" } }), "said"],
        [callOf(write, { lastError: { _tag: "Late" } }), "Late"],
        [callOf(undefined), unknown],
        [callOf(write), unknown],
        [callOf({ ...read, passesKey: true }), unknown],
        [{ ...callOf(read), idempotency: {} }, unknown],
        [callOf({ ...read, effects: undefined }), "interrupted"],
        [callOf(read), "interrupted"]
      ]
      for (const [call, end] of cases) assert.strictEqual(yield* ends(call), end)
    }))

  it.effect("is emitted with its reason, if it has one", () =>
    Effect.gen(function*() {
      const told: Array<object> = []
      const run = openRun({
        id: "r",
        agentRunId: "r",
        path: ["a"],
        clock: { currentTimeMillisUnsafe: () => 0 },
        audience: {
          sinks: [{ emit: (event: object) => (told.push(event), Effect.void) }],
          emitted: { events: 0, isOver: false }
        }
      })
      yield* refused(callOf(read), run, Exit.void)
      yield* refused(callOf(read), run, Exit.interrupt(), "retry_budget")
      const common = {
        runId: "r",
        agentRunId: "r",
        path: ["a"],
        at: 0,
        _tag: "ToolAttemptRefused",
        callId: "c1",
        tool: "look"
      }
      assert.deepStrictEqual(told, [
        { ...common, sequence: 0, error: "none" },
        { ...common, sequence: 1, error: "Interrupted", because: "retry_budget" }
      ])
    }))
})

describe("arguments", () => {
  const Positive = Schema.Struct({ n: Schema.Int.check(Schema.isGreaterThan(0, { message: "must be positive" })) })

  it.effect("are the original JSON, or encoded by the schema", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* asJson(Positive, { n: 1, more: 2 }, { n: 1 }), { n: 1, more: 2 })
      const At = Schema.Struct({ at: Schema.Date })
      const at = new Map()
      assert.deepStrictEqual(yield* asJson(At, { at }, { at: new Date(0) }), { at: "1970-01-01T00:00:00.000Z" })
      assert.deepStrictEqual(yield* Effect.flip(asJson(Schema.Array(Schema.Int), { at }, [1])), [
        { path: [], expected: "expected arguments that JSON can hold", problem: "invalid" }
      ])
    }))

  it.effect("that do not fit say why in the schema's own words", () =>
    Effect.gen(function*() {
      const issuesOf = (args: unknown) =>
        Effect.flip(parametersOf(Positive)).pipe(
          Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: args })),
          Effect.map(({ issues }) => JSON.stringify(issues))
        )
      assert.include(yield* issuesOf({ n: 0 }), "must be positive")
      assert.include(yield* issuesOf("no object"), "syntax")
    }))
})
