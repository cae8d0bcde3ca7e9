/** State of a run: its counts, answers, writes and messages, and the part that outlives a pause or an execution. */

import { assert, describe, it } from "@effect/vitest"
import { openRun } from "../support/openRun.ts"

const run = new URL("../../src/internal/run/", import.meta.url)

const load = async (name: string): Promise<never> => await import(new URL(name, run).href) as never

type Counts = Readonly<Record<string, number>>

interface Write {
  readonly id: string
  readonly tool: string
  readonly callId: string
  readonly root: string
  readonly revoked?: true
}

interface CompletedWrites {
  readonly begin: () => number
  readonly add: (run: Run, write: Write, live: undefined, position?: number) => void
  readonly restore: (run: Run, writes: ReadonlyArray<Write>) => void
  readonly remove: (id: string) => void
  readonly reject: (run: Run, ids?: ReadonlyArray<string>) => void
  readonly rejectedIn: (section: Run) => ReadonlyArray<string>
  readonly get: (id: string) => { readonly position: number } | undefined
  readonly knows: (id: string) => boolean
  readonly newestFirst: (run: Run) => ReadonlyArray<{ readonly write: Write }>
  readonly state: (run: Run) => ReadonlyArray<Write>
  readonly ofSection: (section: Run) => ReadonlyArray<Write>
}

interface Run {
  readonly agentRunId: string
  readonly parent: Run | undefined
  readonly outerCall: { readonly id: string } | undefined
}

interface NestedRuns {
  readonly state: () => Counts
  readonly count: (name: string) => number
  readonly began: (fiber: object) => void
  readonly ended: (fiber: object) => void
  readonly areRunning: boolean
  readonly interrupt: () => void
}

const { CompletedWrites, idAround }: {
  readonly CompletedWrites: new() => CompletedWrites
  readonly idAround: (run: Run, id: string) => string
} = await load("writes/completedWrites.ts")

interface Facts {
  readonly writes: { readonly completed: CompletedWrites | undefined; readonly compensatesWhenRejected: boolean }
}

const { newFacts }: {
  readonly newFacts: (
    parent: Facts | undefined,
    log: undefined,
    compensates: { readonly whenRejected: boolean } | undefined,
    taintedBy: ReadonlyArray<string>,
    before: undefined
  ) => Facts
} = await load("state/runState.ts")

const { NestedRuns }: { readonly NestedRuns: new(hasSteps: boolean, counts?: Counts) => NestedRuns } = await load(
  "run.ts"
)

describe("completed writes", () => {
  const write = (id: string, more: Partial<Write> = {}): Write => ({ id, tool: "t", callId: id, root: id, ...more })
  const runIn = (agentRunId: string, parent: Run | undefined, call?: string): Run =>
    openRun({ agentRunId, parent, outerCall: call === undefined ? undefined : { id: call } })
  const nested = () => {
    const top = runIn("r", undefined)
    // A section of the outermost run.
    const section = runIn("r", undefined)
    const middle = runIn("r/ask", section, "ask")
    return { log: new CompletedWrites(), top, section, middle, inner: runIn("r/ask/deep", middle, "deep") }
  }

  it("are those of each run around, by the calls that are known there, in the order of their starts", () => {
    const { inner, log, middle, section, top } = nested()
    const late = log.begin()
    log.add(inner, write("a"), undefined)
    log.add(top, write("b"), undefined)
    log.add(inner, write("c"), undefined, late)
    const ids = () => [inner, middle, top].map((run) => log.state(run).map(({ id }) => id))
    assert.deepStrictEqual(ids(), [["c", "a"], ["c", "a"], ["c", "a", "b"]])
    const known = (run: Run) => log.state(run).flatMap(({ callId, id, root }) => id === "a" ? [callId, root] : [])
    assert.deepStrictEqual([inner, middle, top].map(known), [["a", "a"], ["deep/a", "deep"], ["ask/deep/a", "ask"]])
    assert.deepStrictEqual(log.ofSection(section).map(({ callId }) => callId), ["ask/deep/c", "ask/deep/a"])
    assert.deepStrictEqual([idAround(top, "x"), idAround(inner, "x")], ["x", "deep/x"])
    assert.deepStrictEqual(log.newestFirst(inner).map(({ write }) => write.id), ["a", "c"])
    log.remove("a")
    assert.deepStrictEqual(ids(), [["c"], ["c"], ["c", "b"]])
    assert.deepStrictEqual(["a", "c", "d"].map((id) => log.knows(id)), [true, true, false])
  })

  it("are rejected in the run and around it: those until then, or those that are named", () => {
    const { inner, log, section, top } = nested()
    log.add(inner, write("a"), undefined)
    log.add(top, write("b"), undefined)
    log.reject(inner)
    log.add(inner, write("c"), undefined)
    const revoked = (run: Run) => log.state(run).map(({ id, revoked }) => [id, revoked])
    assert.deepStrictEqual(revoked(inner), [["a", true], ["c", undefined]])
    assert.deepStrictEqual(revoked(top), [["a", true], ["b", true], ["c", undefined]])
    assert.deepStrictEqual([log.rejectedIn(section), log.rejectedIn(top)], [["a", "b"], []])
    log.reject(top, ["c", "d"])
    log.add(top, write("d"), undefined)
    assert.deepStrictEqual(revoked(top).slice(-2), [["c", true], ["d", true]])
    assert.deepStrictEqual(revoked(inner), [["a", true], ["c", undefined]])
  })

  it("are restored before all others, and belong to the nested run that is resumed", () => {
    const { log, middle, top } = nested()
    log.restore(top, [write("a"), write("b", { callId: "ask/b", root: "ask", revoked: true })])
    log.add(top, write("c"), undefined)
    assert.deepStrictEqual(log.state(middle), [])
    log.restore(middle, [write("b")])
    const known = (run: Run) => log.state(run).map(({ callId, id, revoked, root }) => [id, callId, root, revoked])
    assert.deepStrictEqual(known(middle), [["b", "b", "b", undefined]])
    assert.deepStrictEqual(known(top), [
      ["a", "a", "a", undefined],
      ["b", "ask/b", "ask", true],
      ["c", "c", "c", undefined]
    ])
    assert.strictEqual(log.get("c")!.position, 2)
  })

  it("have one log from the outermost run that compensates", () => {
    const outermost = newFacts(undefined, undefined, undefined, [], undefined)
    const around = newFacts(outermost, undefined, { whenRejected: true }, [], undefined)
    const within = newFacts(around, undefined, { whenRejected: false }, [], undefined)
    assert.isUndefined(outermost.writes.completed)
    assert.strictEqual(within.writes.completed, around.writes.completed)
    assert.deepStrictEqual([within, outermost].map(({ writes }) => writes.compensatesWhenRejected), [true, false])
  })
})

describe("runs within a run", () => {
  it("are counted by name over pauses, and interrupted while running", () => {
    const first = new NestedRuns(false)
    assert.deepStrictEqual([first.state(), first.areRunning], [{}, false])
    first.interrupt()
    first.ended({})
    assert.deepStrictEqual(["a", "a", "b"].map((name) => first.count(name)), [1, 2, 1])
    const second = new NestedRuns(true, first.state())
    assert.deepStrictEqual([second.count("a"), second.count("c"), second.state()], [3, 1, { a: 3, b: 1, c: 1 }])
    let interrupted = 0
    const fiber = { interruptUnsafe: () => interrupted++ }
    second.began(fiber)
    assert.isTrue(second.areRunning)
    second.interrupt()
    second.ended(fiber)
    second.interrupt()
    assert.deepStrictEqual([second.areRunning, interrupted], [false, 1])
  })
})
