/** State of a run: its counts, answers, writes and messages, and the part that outlives a pause or an execution. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Prompt } from "effect/ai"
import { openRun } from "../support/openRun.ts"

const run = new URL("../../src/internal/run/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, run).href) as never

interface Call {
  readonly id: string
  readonly name: string
  readonly params: unknown
}

type AnswersState = Readonly<Record<string, ReadonlyArray<{ key: string; print: string; times: number }>>>

interface Answers {
  readonly timesOf: (call: Call) => number
  readonly note: (call: Call, encoded: unknown) => void
  readonly state: () => AnswersState
  readonly restore: (state: AnswersState) => void
}

type Counts = Readonly<Record<string, number>>

interface LedgerState {
  readonly used: Counts
  readonly retries: Counts
  readonly extended: Counts
  readonly lastTool?: string
}

interface Account {
  readonly caps: Counts
  readonly state: () => LedgerState
  readonly restore: (state: LedgerState) => void
  readonly countReplayed: (state: LedgerState) => void
  readonly fits: (kind: string, tool?: string) => boolean
  readonly charge: (kind: string, tool?: string) => Effect.Effect<void>
  readonly require: (kind: string) => Effect.Effect<void>
  readonly chargeRequest: (tool: string, params: unknown) => Effect.Effect<void>
  readonly refund: (kind: string) => void
  readonly requireArguments: (tool: string, params: unknown) => Effect.Effect<void>
  readonly addTokens: (amount: number) => Effect.Effect<void>
  readonly round: (allFailed: boolean) => Effect.Effect<void>
  readonly begin: (at: number) => void
  readonly hasTime: (now: number, millis: number) => boolean
}

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

interface Transcript {
  taintedBy: ReadonlyArray<string>
  readonly length: number
  readonly cutOff: (text: string) => void
  readonly forgetCutOff: () => void
  readonly resumable: () => Prompt.Prompt
  readonly snapshot: (length?: number) => Prompt.Prompt
  readonly user: (text: string) => void
  readonly synthetic: (text: string) => void
  readonly retractAnswer: () => void
  readonly prompt: (prompt: Prompt.Prompt) => void
  readonly undone: (callId: string, tool: string, mark: "undone" | "may_be_undone") => void
  readonly hasPending: (tool: string) => boolean
  readonly clear: () => void
}

interface NestedRuns {
  readonly state: () => Counts
  readonly count: (name: string) => number
  readonly began: (fiber: object) => void
  readonly ended: (fiber: object) => void
  readonly areRunning: boolean
  readonly interrupt: () => void
}

const { Answers }: { readonly Answers: new() => Answers } = await load("repeatedAnswers.ts")
const { Account }: {
  readonly Account: new(
    agent: string,
    limits: Counts,
    thresholds: ReadonlyArray<number>,
    owner: object,
    parent?: Account
  ) => Account
} = await load("account.ts")
const { CompletedWrites, idAround }: {
  readonly CompletedWrites: new() => CompletedWrites
  readonly idAround: (run: Run, id: string) => string
} = await load("writes/completedWrites.ts")
const { newWrites }: {
  readonly newWrites: (
    parent: { readonly writes: object } | undefined,
    log: undefined,
    compensates: { readonly whenRejected: boolean } | undefined
  ) => { readonly completed: CompletedWrites | undefined; readonly compensatesWhenRejected: boolean }
} = await load("state/writes.ts")
const { Transcript }: { readonly Transcript: new() => Transcript } = await load("transcript.ts")
const { NestedRuns }: { readonly NestedRuns: new(hasSteps: boolean, counts?: Counts) => NestedRuns } = await load(
  "nestedRuns.ts"
)

describe("answers", () => {
  const call = (name: string, params: unknown): Call => ({ id: "c", name, params })
  const look = call("look", { n: 1 })

  it("are counted while no call gives a new one", () => {
    const answers = new Answers()
    const times = (...noted: ReadonlyArray<readonly [Call, unknown]>) => {
      for (const [one, encoded] of noted) answers.note(one, encoded)
      return answers.timesOf(look)
    }
    assert.strictEqual(times([look, { a: 1 }]), 0)
    assert.strictEqual(times([look, { a: 1 }]), 2)
    assert.strictEqual(times([call("look", { n: 1 }), { a: 1 }]), 3)
    // Another call gives a new one, then an old one.
    assert.strictEqual(times([call("look", { n: 2 }), "x"]), 0)
    assert.strictEqual(times([look, { a: 1 }]), 1)
    assert.strictEqual(times([call("look", { n: 2 }), "x"], [look, { a: 1 }]), 2)
    assert.strictEqual(times([look, { a: 2 }]), 1)
    assert.strictEqual(times([call("other", { n: 1 }), 1]), 0)
    assert.strictEqual(times([look, { a: 2 }], [call("other", { n: 1 }), 1], [look, { a: 2 }]), 2)
  })

  it("are counted for each call, though others have alike arguments", () => {
    const answers = new Answers()
    const [one, other] = [call("look", { of: [1] }), call("look", { of: [2] })]
    for (const asked of [one, other, one]) answers.note(asked, "x")
    assert.deepStrictEqual([one, other].map((asked) => answers.timesOf(asked)), [1, 1])
    answers.note(other, "x")
    assert.deepStrictEqual([one, other].map((asked) => answers.timesOf(asked)), [1, 2])
  })

  it("are old once another call gives a new one", () => {
    const answers = new Answers()
    const [first, second] = [call("other", { n: 1 }), call("other", { n: 2 })]
    for (const [one, encoded] of [[look, 1], [first, 1], [look, 1], [first, 2], [second, 1]] as const) {
      answers.note(one, encoded)
    }
    assert.strictEqual(answers.timesOf(look), 0)
  })

  it("that are untrusted are compared by content, not by call", () => {
    const answers = new Answers()
    const said = (call_id: string, content: unknown) => ({ untrusted: true, call_id, content })
    answers.note(look, said("c1", "x"))
    answers.note(look, said("c2", "x"))
    assert.strictEqual(answers.timesOf(look), 2)
    answers.note(look, said("c3", "y"))
    assert.strictEqual(answers.timesOf(look), 1)
    for (
      const odd of ["text", null, { untrusted: true }, { untrusted: true, call_id: 1 }, { call_id: 1, content: 2 }]
    ) {
      answers.note(look, odd)
      answers.note(look, odd)
      assert.strictEqual(answers.timesOf(look), 2)
    }
  })

  it("are compared whole without an envelope", () => {
    for (const fields of [{}, { untrusted: true }, { call_id: "c1" }]) {
      const answers = new Answers()
      for (const n of [1, 2]) answers.note(look, { ...fields, content: "x", n })
      assert.strictEqual(answers.timesOf(look), 0)
    }
  })

  it("continue over a pause unchanged", () => {
    const noted: ReadonlyArray<readonly [Call, unknown]> = [
      [look, "x"],
      [call("other", { n: 1 }), "y"],
      [look, "x"],
      [look, "x"],
      [call("other", { n: 2 }), "z"],
      [call("other", { n: 2 }), "z"]
    ]
    // Once is as good as never.
    const repeated = (answers: Answers, one: Call) => Math.max(answers.timesOf(one), 1)
    for (let pause = 0; pause <= noted.length; pause++) {
      const [whole, before, after] = [new Answers(), new Answers(), new Answers()]
      for (const [one, encoded] of noted) whole.note(one, encoded)
      for (const [one, encoded] of noted.slice(0, pause)) before.note(one, encoded)
      const state = JSON.parse(JSON.stringify(before.state())) as AnswersState
      after.restore(state)
      assert.deepStrictEqual(after.state(), before.state(), String(pause))
      for (const [one] of noted) assert.strictEqual(repeated(after, one), repeated(before, one), String(pause))
      for (const [one, encoded] of noted.slice(pause)) after.note(one, encoded)
      for (const [one] of noted) assert.strictEqual(repeated(after, one), repeated(whole, one), String(pause))
    }
    const answers = new Answers()
    for (const [one, encoded] of noted) answers.note(one, encoded)
    assert.deepStrictEqual(
      Object.entries(answers.state()).map(([tool, all]) => [tool, all.map(({ key, times }) => [key, times])]),
      [["look", [["{\"n\":1}", 0]]], ["other", [["{\"n\":2}", 2], ["{\"n\":1}", 0]]]]
    )
  })
})

describe("an account", () => {
  const told: Array<string> = []
  const owner = {
    onThreshold: (...all: ReadonlyArray<unknown>) => Effect.sync(() => void told.push(all.join(" "))),
    onExtended: () => Effect.void,
    onExceeded: undefined
  }
  const accounts = (limits: Counts, thresholds: ReadonlyArray<number> = [], around: Counts = {}) => {
    told.length = 0
    const outer = new Account("outer", around, thresholds, owner)
    return { outer, inner: new Account("inner", limits, thresholds, owner, outer) }
  }
  const isStopped = (effect: Effect.Effect<void>): boolean => Exit.isFailure(Effect.runSyncExit(effect))

  it("emits each threshold once, also of each outer run", () => {
    const { inner } = accounts({ turns: 4 }, [0, 0.5], { turns: 2 })
    for (let turn = 0; turn < 2; turn++) Effect.runSync(inner.charge("turns"))
    assert.deepStrictEqual(told, ["turns 0 1 4", "turns 0 1 2", "turns 0.5 1 2", "turns 0.5 2 4"])
    assert.isTrue(isStopped(inner.charge("turns")))
    assert.isTrue(isStopped(inner.require("toolCalls")))
    const none = accounts({ tokens: 4 }, [0, 1])
    Effect.runSync(none.inner.addTokens(0))
    assert.deepStrictEqual(told, [])
    Effect.runSync(none.inner.addTokens(4))
    assert.deepStrictEqual(told, ["tokens 0 4 4", "tokens 1 4 4"])
  })

  it("takes a charge back, here and around", () => {
    const { inner, outer } = accounts({ toolCalls: 2 })
    for (let call = 0; call < 2; call++) Effect.runSync(inner.charge("toolCalls"))
    assert.isFalse(inner.fits("toolCalls"))
    inner.refund("toolCalls")
    assert.deepStrictEqual([inner, outer].map((account) => account.state().used["toolCalls"]), [1, 1])
  })

  it("counts an earlier execution's usage, without its duration", () => {
    const { inner, outer } = accounts({ turns: 4, retriesPerTool: 3 })
    const state = {
      used: { turns: 2, duration: 7, allFailureRounds: 1, tokens: 5 },
      retries: { look: 1 },
      extended: { turns: 2, tokens: 1 }
    }
    inner.countReplayed(state)
    inner.countReplayed(state)
    for (const account of [inner, outer]) {
      const { retries, used } = account.state()
      assert.deepStrictEqual(
        [used["turns"], used["duration"], used["allFailureRounds"], used["tokens"], retries],
        [4, 0, 0, 10, { look: 2 }]
      )
    }
    assert.deepStrictEqual([inner.caps, inner.state().extended], [{ turns: 8, retriesPerTool: 3 }, { turns: 4 }])
    const again = accounts({ turns: 4, retriesPerTool: 3 }).inner
    again.restore(inner.state())
    assert.deepStrictEqual(again.state(), inner.state())
    assert.notProperty(again.state(), "lastTool")
    const rows = accounts({ sameToolInARow: 2 }).inner
    Effect.runSync(rows.chargeRequest("look", {}))
    const after = accounts({ sameToolInARow: 2 }).inner
    after.restore(rows.state())
    assert.strictEqual(after.state().lastTool, "look")
    Effect.runSync(after.chargeRequest("look", {}))
    assert.isTrue(isStopped(after.chargeRequest("look", {})))
    assert.isTrue(isStopped(after.chargeRequest("other", {})))
  })

  it("has time for a wait that ends before each deadline", () => {
    const { inner, outer } = accounts({ duration: 100 }, [], { duration: 150 })
    assert.isTrue(inner.hasTime(0, 1e6))
    inner.begin(1_000)
    assert.deepStrictEqual([99, 100, 101].map((millis) => inner.hasTime(1_000, millis)), [true, false, false])
    outer.begin(940)
    assert.deepStrictEqual([89, 90].map((millis) => inner.hasTime(1_000, millis)), [true, false])
    const moved = new Account("a", { duration: 100 }, [], { ...owner, onExceeded: () => Effect.void })
    moved.begin(0)
    assert.isTrue(moved.hasTime(0, 1e6))
    assert.isTrue(accounts({}).inner.hasTime(0, 1e6))
  })

  it("ends calls with larger arguments than its cap or outer ones", () => {
    const { inner } = accounts({ argumentSize: 5 })
    assert.deepStrictEqual(
      ["12345", "123456", [123], [1234]].map((all) => isStopped(inner.requireArguments("t", all))),
      [
        false,
        true,
        false,
        true
      ]
    )
    const each = (params: unknown) =>
      isStopped(accounts({}, [], { argumentSize: 5 }).inner.requireArguments("t", params))
    assert.deepStrictEqual(["12345", "123456", [123], [12345]].map(each), [false, true, false, true])
  })

  it("counts rounds in which all calls failed in a row", () => {
    const { inner, outer } = accounts({ allFailureRounds: 3 })
    const rounds = () => [inner, outer].map((account) => account.state().used["allFailureRounds"])
    for (const allFailed of [true, true]) Effect.runSync(inner.round(allFailed))
    assert.deepStrictEqual(rounds(), [2, 2])
    Effect.runSync(inner.round(false))
    assert.deepStrictEqual(rounds(), [0, 0])
  })
})

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
    const outermost = { writes: newWrites(undefined, undefined, undefined) }
    const around = { writes: newWrites(outermost, undefined, { whenRejected: true }) }
    const within = newWrites(around, undefined, { whenRejected: false })
    assert.isUndefined(outermost.writes.completed)
    assert.strictEqual(within.completed, around.writes.completed)
    assert.deepStrictEqual([within, outermost.writes].map((one) => one.compensatesWhenRejected), [true, false])
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

describe("a transcript", () => {
  const texts = (prompt: Prompt.Prompt) =>
    prompt.content.map(({ content, role }) =>
      typeof content === "string"
        ? content
        : `${role} ${content.map((part) => part.type === "text" ? part.text : part.type).join()}`
    )

  it("resumes without a last interrupted answer", () => {
    const transcript = new Transcript()
    assert.deepStrictEqual(transcript.resumable().content, [])
    transcript.forgetCutOff()
    transcript.user("a")
    transcript.forgetCutOff()
    transcript.cutOff("")
    assert.deepStrictEqual(texts(transcript.resumable()), ["user a"])
    transcript.taintedBy = ["page"]
    transcript.cutOff("half")
    assert.deepStrictEqual([texts(transcript.resumable()), texts(transcript.snapshot())], [["user a"], [
      "user a",
      "assistant half"
    ]])
    assert.deepInclude(transcript.snapshot().content[1]!.options, { recourse: { cutOff: true, taintedBy: ["page"] } })
    transcript.user("b")
    transcript.forgetCutOff()
    assert.deepStrictEqual(texts(transcript.resumable()), ["user a", "assistant half", "user b"])
    transcript.cutOff("more")
    transcript.forgetCutOff()
    assert.deepStrictEqual(texts(transcript.snapshot()), ["user a", "assistant half", "user b"])
    assert.deepStrictEqual([texts(transcript.snapshot(1)), transcript.length], [["user a"], 3])
  })

  it("removes the model's last answers, and marks the program's", () => {
    const transcript = new Transcript()
    transcript.retractAnswer()
    transcript.user("a")
    transcript.synthetic("b")
    assert.deepStrictEqual(texts(transcript.snapshot()), ["user a", "assistant b"])
    assert.deepStrictEqual(transcript.snapshot().content[1]!.options, { recourse: { synthetic: true } })
    transcript.synthetic("c")
    transcript.retractAnswer()
    assert.deepStrictEqual(texts(transcript.snapshot()), ["user a"])
  })

  it("marks a result as compensated, and keeps the others", () => {
    const part = (id: string, result: unknown, isFailure = false) =>
      Prompt.toolResultPart({ id, name: "t", result, isFailure, providerExecuted: false } as never)
    const message = (...content: ReadonlyArray<Prompt.ToolMessagePart>) => Prompt.toolMessage({ content })
    const transcript = new Transcript()
    const [first, second] = [
      message(part("a", "x"), part("b", null), part("c", { code: "x" }, true)),
      message(part("d", { untrusted: true, content: "x" }))
    ]
    transcript.prompt(Prompt.fromMessages([first, second]))
    for (const id of ["a", "a", "b", "c", "none"]) transcript.undone(id, `undo ${id}`, "undone")
    const { content } = transcript.snapshot()
    assert.strictEqual(content[1], second)
    const results = (content[0] as Prompt.ToolMessage).content.map((one) => one.type === "tool-result" && one.result)
    assert.deepStrictEqual(results, [
      { undone: ["undo a", "undo a"], result: "x" },
      { undone: ["undo b"], result: null },
      { code: "x", undone: ["undo c"] }
    ])
    transcript.undone("d", "u", "undone")
    const [envelope] = (transcript.snapshot().content[1] as Prompt.ToolMessage).content
    assert.deepStrictEqual((envelope as Prompt.ToolResultPart).result, { untrusted: true, content: "x", undone: ["u"] })
  })

  it("marks which writes of a call are compensated, or possibly", () => {
    const transcript = new Transcript()
    const part = { id: "a", name: "t", result: "x", isFailure: false, providerExecuted: false }
    transcript.prompt(Prompt.fromMessages([Prompt.toolMessage({ content: [Prompt.toolResultPart(part as never)] })]))
    transcript.undone("a", "hotel", "may_be_undone")
    transcript.undone("a", "flight", "undone")
    transcript.undone("a", "car", "may_be_undone")
    const [message] = transcript.snapshot().content
    const [only] = (message as Prompt.ToolMessage).content
    assert.deepStrictEqual((only as Prompt.ToolResultPart).result, {
      may_be_undone: ["hotel", "car"],
      undone: ["flight"],
      result: "x"
    })
  })

  it("knows the started tasks until it restarts", () => {
    const pending = Prompt.toolResultPart({
      id: "a",
      name: "t",
      result: 1,
      isFailure: false,
      providerExecuted: false,
      options: { recourse: { pendingOf: "job" } }
    } as never)
    const transcript = new Transcript()
    assert.isFalse(transcript.hasPending("job"))
    transcript.prompt(Prompt.fromMessages([Prompt.toolMessage({ content: [pending] })]))
    assert.deepStrictEqual([transcript.hasPending("job"), transcript.hasPending("other")], [true, false])
    transcript.clear()
    assert.deepStrictEqual([transcript.hasPending("job"), transcript.length], [false, 0])
  })
})
