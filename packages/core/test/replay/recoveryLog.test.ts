/** Failed attempts and waits in the log of a run, found by the paths of their calls. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { entriesIn } from "../support/interruptedRuns.ts"

interface Paths {
  readonly starts: string | undefined
  readonly waits: string
}

interface Wait {
  readonly at: number
  readonly until: number
  readonly used: object | undefined
}

interface RecoveryLog {
  readonly failureOf: (paths: Paths, attempt: number) => { readonly cause: string } | undefined
  readonly waitBehind: (paths: Paths, attempt: number) => Wait | undefined
  readonly talliedUpTo: (paths: Paths) => number
  readonly waitsOf: (path: string) => ReadonlyArray<Schema.Json>
  readonly append: (path: string, wait: Schema.Json) => Effect.Effect<void>
}

const { RunLog }: { readonly RunLog: new(journal: object) => { readonly recovery: RecoveryLog } } = await import(
  new URL("../../src/internal/run/runLog.ts", import.meta.url).href
) as never

const logOf = (records: Readonly<Record<string, unknown>>, isResumed = true) => {
  const entries = new Map(Object.entries(records as Record<string, Schema.Json>))
  const recorded: Array<string> = []
  const { recovery } = new RunLog({
    isResumed,
    entries: entriesIn(entries),
    find: (kind: string, key: string) => entries.get(`${kind} ${key}`),
    record: (kind: string, key: string) => Effect.sync(() => void recorded.push(`${kind} ${key}`))
  })
  return { recorded, recovery }
}

const failed = (attempt: number, cause = "ExecutionError") => ({
  attempt,
  cause,
  error: "ExecutionError",
  at: 1,
  startedAt: 1,
  executed: true,
  happened: "no"
})

const usedFor = (toolCalls: number, executed: ReadonlyArray<string>, more: object = {}) => ({
  usage: { toolCalls, turns: 1 },
  budget: { used: { toolCalls }, retries: { pay: toolCalls - 1 }, extended: {} },
  executed,
  hidden: { look: 7 },
  ...more
})

const wait = (behind: number, failures: ReadonlyArray<object>, more: object = {}) => ({
  tool: "pay",
  behind,
  at: behind * 10,
  until: behind * 10 + 5,
  failed: failures,
  ...more
})

const pay = { starts: "r/3:pay/c1", waits: "/c1" }

describe("the log of failed attempts", () => {
  const records = {
    "write r/3:pay/c1@3": {
      tool: "pay",
      at: 1,
      path: "r/3:pay/c1",
      attempt: 3,
      failed: [failed(1, "start"), failed(2)]
    },
    "write r/3:pay/c2@2": { tool: "pay", at: 1, path: "r/3:pay/c2", attempt: 2, failed: [{ attempt: 1 }] },
    "wait /c1#1": wait(1, [failed(1, "wait")]),
    "wait /c1#2": { tool: "pay", behind: 2, of: "another version" },
    "wait /c1#3": wait(4, [failed(3), failed(4)]),
    "wait told /c1": null
  }

  it("finds a failure in the entry of the next wait or start", () => {
    const { recovery } = logOf(records)
    const causes = [1, 2, 3, 4, 5].map((attempt) => recovery.failureOf(pay, attempt)?.cause)
    assert.deepStrictEqual(causes, ["wait", "ExecutionError", "ExecutionError", "ExecutionError", undefined])
    const ofUnknownTool = [1, 2].map((attempt) => recovery.failureOf({ ...pay, starts: undefined }, attempt)?.cause)
    assert.deepStrictEqual(ofUnknownTool, ["wait", undefined])
    assert.isUndefined(recovery.failureOf({ starts: "r/3:pay/c2", waits: "/c2" }, 1))
  })

  it("finds a wait by the attempt before it", () => {
    const { recovery } = logOf(records)
    const waits = [1, 2, 3, 4].map((attempt) => recovery.waitBehind(pay, attempt)?.until)
    assert.deepStrictEqual(waits, [15, undefined, undefined, 45])
    assert.isUndefined(recovery.waitBehind({ ...pay, waits: "/c2" }, 1))
  })

  it("has no failure and no wait in a first execution", () => {
    const { recovery } = logOf(records, false)
    assert.isUndefined(recovery.failureOf(pay, 1))
    assert.isUndefined(recovery.waitBehind(pay, 1))
  })

  it("has the usage of each wait since the wait before", () => {
    const done = (id: string, known: string) => ({
      id,
      known,
      tool: "pay",
      scope: "r",
      identity: id,
      callId: id,
      root: id
    })
    const write = { path: ["a"], arguments: {} }
    const { recovery } = logOf({
      "wait /c1#1": wait(1, [failed(1)], {
        used: usedFor(1, ["one"], { done: [{ ...done("w", "unknown"), ...write }] })
      }),
      "wait /c1#2": wait(2, [failed(2)]),
      "wait /c1#3": wait(3, [failed(3)], {
        used: usedFor(3, ["one", "two", "three"], {
          done: [{ ...done("w", "done"), ...write }, { ...done("v", "done"), ...write }],
          revoked: ["w"]
        })
      }),
      "wait /c1#4": wait(4, [failed(4)], {
        used: usedFor(4, ["one", "two", "three", "four"], {
          done: [{ ...done("w", "done"), ...write }, { ...done("v", "done"), ...write }]
        })
      })
    })
    const used = [1, 2, 3, 4].map((attempt) => recovery.waitBehind(pay, attempt)?.used)
    assert.deepStrictEqual(used, [
      usedFor(1, ["one"], {
        usage: { toolCalls: 1, turns: 1 },
        budget: { used: { toolCalls: 1 }, retries: {}, extended: {} },
        done: [{ ...done("w", "unknown"), ...write }]
      }),
      undefined,
      usedFor(2, ["two", "three"], {
        usage: { toolCalls: 2 },
        budget: { used: { toolCalls: 2 }, retries: { pay: 2 }, extended: {} },
        done: [{ ...done("w", "done"), ...write }, { ...done("v", "done"), ...write }],
        revoked: ["w"]
      }),
      usedFor(1, ["four"], {
        usage: { toolCalls: 1 },
        budget: { used: { toolCalls: 1 }, retries: { pay: 1 }, extended: {} },
        done: []
      })
    ])
    assert.strictEqual(recovery.talliedUpTo(pay), 4)
    assert.strictEqual(recovery.talliedUpTo({ ...pay, waits: "/c2" }), 0)
  })

  it.effect("numbers a wait behind those of earlier executions", () =>
    Effect.gen(function*() {
      const { recorded, recovery } = logOf({ "wait /1#1": "a", "wait /1#2": "b", "wait /2#2": "c" })
      assert.deepStrictEqual(recovery.waitsOf("/1"), ["a", "b"])
      for (const path of ["/1", "/1", "/2", "/2", "/3"]) yield* recovery.append(path, null)
      assert.deepStrictEqual(recorded, ["wait /1#3", "wait /1#4", "wait /2#1", "wait /2#3", "wait /3#1"])
    }))
})
