/** Intents: what the journal of a run is told before a call begins, and how a call ends that an earlier life has begun. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Schema } from "effect"
import { openRecord } from "./openRecord.ts"

const room = new URL("../src/internal/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

type Json = Schema.Json

interface Record_ {
  [field: string]: unknown
  happened: string
}

interface Done {
  readonly state: () => ReadonlyArray<{ readonly id: string; readonly known: string; readonly result?: Json }>
}

const { DoneWrites }: { readonly DoneWrites: new(undoes: boolean, around: undefined) => Done } = await load(
  "run/doneWrites.ts"
)
const newRecord = (id: string, made?: object): Record_ => openRecord<Record_>(id, made)
const { begunBefore, hasIntent, noteCutOff, withIntent }: {
  readonly begunBefore: (journal: object, run: object, intended: object) => Effect.Effect<unknown, unknown> | undefined
  readonly hasIntent: (journal: object, run: object, tool: string, call: string) => boolean
  readonly noteCutOff: (intended: object) => void
  readonly withIntent: <A>(
    journal: object,
    run: object,
    intended: object,
    key: string | undefined,
    execute: () => Effect.Effect<A, unknown>
  ) => Effect.Effect<A, unknown>
} = await load("call/intent.ts")

const write = { name: "book", effects: "write", passesKey: false }
const place = "r/4:book/c1"
const may = `compensation may ${place}@c1`

interface World {
  readonly tool: object
  readonly kept?: Readonly<Record<string, Json>>
  readonly undoes?: boolean
  readonly commits?: boolean
  readonly within?: boolean
  readonly success?: Schema.Top
  readonly more?: object
}

const worldOf = ({ commits, kept = {}, more, success = Schema.String, tool, undoes, within }: World) => {
  const steps: Array<unknown> = []
  const journal = {
    isResumed: true,
    find: (kind: string, key: string) => kept[`${kind} ${key}`],
    record: (kind: string, key: string, value: Json) =>
      Effect.sync(() => {
        steps.push(`${kind} ${key}`)
        if (kind === "child" || key.startsWith("not ")) steps.push(value)
      }),
    ...(commits === true ? { transaction: () => Effect.void } : undefined)
  }
  const run = {
    scope: "r",
    place: "p",
    path: ["a"],
    journal,
    clock: { currentTimeMillisUnsafe: () => 7 },
    usage: { toolCalls: 0 },
    startedWrites: [],
    executed: [] as Array<{ readonly outcome: string }>,
    tally: undefined,
    audience: undefined,
    parent: undefined,
    done: undoes === true ? new DoneWrites(false, undefined) : undefined
  }
  const record = newRecord("c1", within === true ? { parent: newRecord("outer") } : {})
  record["tool"] = tool
  const call = { id: "c1", arguments: {}, record, ...more }
  const attempt = { call, run, number: 1, context: Context.empty(), announced: "nothing" }
  return { steps, journal, run, record, intended: { attempt, info: tool, success } }
}

describe("before a call begins", () => {
  /** What is recorded, and when it runs. */
  const recorded = (
    world: World,
    key?: string,
    exit: Exit.Exit<unknown, unknown> = Exit.succeed("ok"),
    happened = "yes"
  ) =>
    Effect.gen(function*() {
      const { intended, journal, record, run, steps } = worldOf(world)
      yield* Effect.exit(withIntent(journal, run, intended, key, () =>
        Effect.suspend(() => {
          steps.push("runs")
          record.happened = happened
          return exit
        })))
      return steps
    })
  const undone = { ...write, compensation: {} }

  it.effect("the journal has that it may, where nothing else will tell", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [world: World, steps: ReadonlyArray<unknown>, key?: string]> = [
        [{ tool: write }, [`write ${place}`, "runs"]],
        [{ tool: { ...write, effects: undefined } }, [`write ${place}`, "runs"]],
        [{ tool: write }, ["runs"], "key"],
        [{ tool: { ...write, passesKey: true } }, ["runs"], "key"],
        [{ tool: { ...write, effects: "read" } }, ["runs"]],
        [{ tool: { ...write, effects: "idempotent" } }, ["runs"]],
        [{ tool: { ...write, isAgent: true } }, ["runs"]],
        [{ tool: { ...write, isTransaction: true }, commits: true }, ["runs"]],
        [{ tool: { ...write, isTransaction: true } }, [`write ${place}`, "runs"]],
        [{ tool: write, commits: true }, [`write ${place}`, "runs"]],
        // What a run may have to undo stands there in any case.
        [{ tool: undone, undoes: true }, [`write ${place}`, "runs"]],
        [{ tool: undone }, [`write ${place}`, "runs"]],
        [{ tool: { ...undone, passesKey: true }, undoes: true }, [`compensation may ${place}`, "runs"], "key"],
        [{ tool: { ...undone, effects: "idempotent" }, undoes: true }, [may, "runs"]],
        [{ tool: { ...undone, isTransaction: true }, undoes: true, commits: true }, [may, "runs"]],
        [{ tool: { ...undone, isAgent: true }, undoes: true }, ["runs"]]
      ]
      for (const [world, steps, key] of cases) {
        assert.deepStrictEqual(yield* recorded(world, key), steps, JSON.stringify([world, key]))
      }
    }))

  it.effect("and behind one that a tool makes what it came to", () =>
    Effect.gen(function*() {
      const within = { tool: write, within: true }
      assert.deepStrictEqual(yield* recorded(within), [`write ${place}`, "runs", `child ${place}`, "ok"])
      assert.deepStrictEqual(yield* recorded({ ...within, success: Schema.Void }, undefined, Exit.void), [
        `write ${place}`,
        "runs",
        `child ${place}`,
        null
      ])
      assert.deepStrictEqual(yield* recorded({ ...within, success: Schema.Int }), [`write ${place}`, "runs"])
      assert.deepStrictEqual(yield* recorded({ ...within, tool: { ...write, isTransaction: true }, commits: true }), [
        "runs"
      ])
      const failed = (world: World, happened: string) => recorded(world, undefined, Exit.fail("no"), happened)
      assert.deepStrictEqual(yield* failed(within, "no"), [`write ${place}`, "runs"])
      const noted = { ...within, tool: undone, undoes: true }
      assert.deepStrictEqual(yield* failed(noted, "unknown"), [`write ${place}`, "runs"])
      assert.deepStrictEqual(yield* failed(noted, "no"), [
        `write ${place}`,
        "runs",
        `compensation not ${place}@c1`,
        true
      ])
    }))
})

describe("a call that an earlier life has begun", () => {
  const began = { tool: "book", at: 1 }
  const ended = (world: World) =>
    Effect.gen(function*() {
      const { intended, journal, record, run } = worldOf(world)
      const found = begunBefore(journal, run, intended)
      if (found === undefined) return undefined
      const exit = yield* Effect.exit(found)
      const { answered, closedBy, executed, happened, known, running } = record
      return {
        answer: Exit.isSuccess(exit) ? exit.value : (Cause.squash(exit.cause) as { readonly _tag: string })._tag,
        happened: [happened, known, running, executed],
        isClosed: closedBy !== undefined,
        answered,
        entries: run.executed.map(({ outcome }) => outcome),
        calls: run.usage.toolCalls,
        ...(run.done === undefined ? undefined : { done: run.done.state().map(({ known, result }) => [known, result]) })
      }
    })
  const unknown = {
    answer: "OutcomeUnknown",
    happened: ["unknown", "unknown", 0, true],
    isClosed: true,
    answered: undefined,
    entries: ["unknown"],
    calls: 1
  }
  const known = (value: unknown) => ({
    answer: value,
    happened: ["yes", "yes", 0, true],
    isClosed: false,
    answered: { value },
    entries: ["success"],
    calls: 1
  })

  for (
    const [what, tool] of [
      ["a write", write],
      ["a write with a key today", { ...write, passesKey: true }],
      ["a read today", { ...write, effects: "read" }],
      ["an agent today", { ...write, isAgent: true }]
    ] as const
  ) {
    it.effect(`ends as it did, or nobody knows: ${what}`, () =>
      Effect.gen(function*() {
        assert.isUndefined(yield* ended({ tool }))
        assert.isUndefined(yield* ended({ tool, kept: { [`write r/4:book/c2`]: began, [`call ${place}`]: began } }))
        assert.isUndefined(yield* ended({ tool, kept: { [`write ${place}`]: "another version's" } }))
        assert.deepStrictEqual(yield* ended({ tool, kept: { [`write ${place}`]: began } }), unknown)
        assert.deepStrictEqual(
          yield* ended({ tool, kept: { [`write ${place}`]: began, [`child ${place}`]: "ok" } }),
          known("ok")
        )
        assert.deepStrictEqual(
          yield* ended({ tool, kept: { [`write ${place}`]: began, [`child ${place}`]: 7 } }),
          unknown
        )
        // It was committed with the record of its outcome.
        assert.deepStrictEqual(yield* ended({ tool, kept: { [`child ${place}`]: "ok" } }), known("ok"))
      }))
  }

  it.effect("is noted for whoever undoes the run", () =>
    Effect.gen(function*() {
      const world = { tool: { ...write, compensation: {} }, undoes: true }
      const kept = { [`write ${place}`]: began }
      assert.deepStrictEqual(yield* ended({ ...world, kept }), { ...unknown, done: [["unknown", undefined]] })
      assert.deepStrictEqual(yield* ended({ ...world, kept: { ...kept, [`child ${place}`]: "ok" } }), {
        ...known("ok"),
        done: [["done", "ok"]]
      })
    }))

  it("is found by its tool and its id, by its beginning or its outcome", () => {
    for (const kind of ["write", "child"]) {
      const { journal, run } = worldOf({ tool: write, kept: { [`${kind} ${place}`]: began } })
      const found = (["c1", "c2"] as const).map((call) => hasIntent(journal, run, "book", call))
      assert.deepStrictEqual([...found, hasIntent(journal, run, "pay", "c1")], [true, false, false])
    }
  })
})

describe("a call that is not made again, as its run is cancelled", () => {
  it("may have been done where it leaves no other trace, and its beginning is not known to be missing", () => {
    const keyed = { ...write, passesKey: true, compensation: {} }
    const begun = { [`compensation may ${place}`]: {} }
    const noted = (world: World) => {
      const { intended, record, run } = worldOf({ undoes: true, ...world })
      noteCutOff(intended)
      return [record.happened, record["running"], run.done?.state().map(({ known }) => known)]
    }
    const unknown = ["unknown", 0, ["unknown"]]
    const nothing = ["no", 0, []]
    assert.deepStrictEqual(noted({ tool: keyed, kept: begun }), unknown)
    assert.deepStrictEqual(noted({ tool: keyed }), nothing)
    assert.deepStrictEqual(noted({ tool: { ...keyed, passesKey: false }, kept: begun }), nothing)
    assert.deepStrictEqual(
      noted({ tool: { ...keyed, passesKey: false }, kept: begun, more: { idempotency: {} } }),
      unknown
    )
    assert.deepStrictEqual(
      noted({ tool: { ...keyed, passesKey: false, effects: "idempotent" }, kept: { [may]: {} } }),
      unknown
    )
    // Nobody would undo it: that it may have been done is all that is to be said.
    assert.deepStrictEqual(noted({ tool: { ...write, passesKey: true } }), ["unknown", 0, []])
    assert.deepStrictEqual(noted({ tool: keyed, undoes: false }), ["unknown", 0, undefined])
    const { intended, record } = worldOf({ tool: keyed })
    noteCutOff({ ...intended, attempt: { ...intended.attempt, run: undefined } })
    noteCutOff({ ...intended, attempt: { ...intended.attempt, run: { ...intended.attempt.run, journal: undefined } } })
    assert.strictEqual(record.happened, "no")
  })
})
