/** State of a run: what is counted, answered, done and said in it, and what of that outlives a pause or a life. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Prompt } from "effect/ai"
import { openRun } from "./openRun.ts"

const run = new URL("../src/internal/run/", import.meta.url)
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
  readonly chargeRow: (tool: string) => Effect.Effect<void>
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

interface DoneWrites {
  readonly size: number
  readonly isCompensating: boolean
  readonly begin: () => number
  readonly get: (id: string) => { readonly write: Write; readonly position: number } | undefined
  readonly knows: (id: string) => boolean
  readonly newestFirst: () => ReadonlyArray<{ readonly write: Write }>
  readonly state: () => ReadonlyArray<Write>
}

interface Run {
  readonly done: DoneWrites | undefined
  readonly parent: Run | undefined
  readonly outerCall: { readonly id: string } | undefined
  readonly tally: { done: ReadonlyArray<Write>; revoked: ReadonlyArray<string> } | undefined
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
const { DoneWrites }: {
  readonly DoneWrites: new(
    compensatesWhenRejected: boolean,
    around: DoneWrites | undefined,
    resumed?: ReadonlyArray<Write>
  ) => DoneWrites
} = await load("writes/completedWrites.ts")
const { addDone, idAround, isLeftIn, removeDone, revokeDone }: {
  readonly addDone: (run: Run | undefined, write: Write, live: undefined, position?: number) => void
  readonly idAround: (run: Run, id: string) => string
  readonly isLeftIn: (run: Run | undefined, id: string) => boolean
  readonly removeDone: (run: Run | undefined, id: string) => void
  readonly revokeDone: (run: Run | undefined, ids?: ReadonlyArray<string>) => void
} = await load("writes/noteWrite.ts")
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

  it("are old once another call gives a new one, whether it was made before or not", () => {
    const answers = new Answers()
    const [first, second] = [call("other", { n: 1 }), call("other", { n: 2 })]
    for (const [one, encoded] of [[look, 1], [first, 1], [look, 1], [first, 2], [second, 1]] as const) {
      answers.note(one, encoded)
    }
    assert.strictEqual(answers.timesOf(look), 0)
  })

  it("from outside are what they say, and not which call says it", () => {
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

  it("are all that they say where they have no envelope", () => {
    for (const fields of [{}, { untrusted: true }, { call_id: "c1" }]) {
      const answers = new Answers()
      for (const n of [1, 2]) answers.note(look, { ...fields, content: "x", n })
      assert.strictEqual(answers.timesOf(look), 0)
    }
  })

  it("go on over a pause as if it had not been", () => {
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

  it("tells each threshold once, of each run around as well", () => {
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

  it("counts again what an earlier life has used, and not how long it took", () => {
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
    Effect.runSync(rows.chargeRow("look"))
    const after = accounts({ sameToolInARow: 2 }).inner
    after.restore(rows.state())
    assert.strictEqual(after.state().lastTool, "look")
    Effect.runSync(after.chargeRow("look"))
    assert.isTrue(isStopped(after.chargeRow("look")))
    assert.isTrue(isStopped(after.chargeRow("other")))
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

  it("ends what calls with larger arguments than it allows, here and around", () => {
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

describe("the writes that a run has done", () => {
  const write = (id: string, more: Partial<Write> = {}): Write => ({ id, tool: "t", callId: id, root: id, ...more })
  const ids = (done: DoneWrites | undefined) => done!.state().map(({ id }) => id)
  const nested = () => {
    const outermost = new DoneWrites(false, undefined)
    const top: Run = openRun({
      done: outermost,
      parent: undefined,
      outerCall: undefined,
      tally: { done: [], revoked: [] }
    })
    const middle: Run = openRun({
      done: new DoneWrites(false, outermost),
      parent: top,
      outerCall: { id: "ask" },
      tally: undefined
    })
    const inner: Run = openRun({
      done: new DoneWrites(false, middle.done),
      parent: middle,
      outerCall: { id: "deep" },
      tally: { done: [], revoked: [] }
    })
    return { top, middle, inner }
  }

  it("stand in each log around it, by the calls that are known there, in the order in which they began", () => {
    const { inner, middle, top } = nested()
    const late = inner.done!.begin()
    addDone(inner, write("a"), undefined)
    addDone(top, write("b"), undefined)
    addDone(inner, write("c"), undefined, late)
    assert.deepStrictEqual([inner, middle, top].map(({ done }) => ids(done)), [["c", "a"], ["c", "a"], ["c", "a", "b"]])
    const known = (run: Run) => [run.done!.get("a")!.write.callId, run.done!.get("a")!.write.root]
    assert.deepStrictEqual([inner, middle, top].map(known), [["a", "a"], ["deep/a", "deep"], ["ask/deep/a", "ask"]])
    assert.deepStrictEqual(top.tally!.done.map(({ callId }) => callId), ["ask/deep/a", "b", "ask/deep/c"])
    assert.deepStrictEqual([idAround(top, "x"), idAround(inner, "x")], ["x", "deep/x"])
    assert.deepStrictEqual(inner.done!.newestFirst().map(({ write }) => write.id), ["a", "c"])
    removeDone(inner, "a")
    assert.deepStrictEqual([inner, middle, top].map(({ done }) => ids(done)), [["c"], ["c"], ["c", "b"]])
    assert.deepStrictEqual(top.tally!.done.map(({ id }) => id), ["b", "c"])
    assert.deepStrictEqual([top.done!.knows("a"), top.done!.knows("d"), top.done!.size], [true, false, 2])
    for (const change of [addDone, removeDone, revokeDone] as const) change(undefined, "a" as never, undefined as never)
  })

  it("are left where none of the runs around has undone them", () => {
    const { inner, middle, top } = nested()
    addDone(inner, write("a"), undefined)
    const left = () => [inner, middle, top].map((run) => isLeftIn(run, "a"))
    assert.deepStrictEqual([left(), isLeftIn(inner, "b")], [[true, true, true], false])
    removeDone(top, "a")
    assert.deepStrictEqual(left(), [false, false, false])
    addDone(top, write("a"), undefined)
    removeDone(middle, "a")
    addDone(top, write("a"), undefined)
    assert.deepStrictEqual(left(), [false, false, true])
    // A run that keeps no log undoes nothing.
    assert.isTrue(isLeftIn(undefined, "a"))
    assert.isTrue(
      isLeftIn(openRun({ done: undefined, parent: undefined, outerCall: undefined, tally: undefined }), "a")
    )
  })

  it("are revoked: those of until then, or those that are named, also where they are noted later", () => {
    const { inner, top } = nested()
    addDone(inner, write("a"), undefined)
    addDone(top, write("b"), undefined)
    revokeDone(inner)
    addDone(inner, write("c"), undefined)
    const revoked = (run: Run) => run.done!.state().map(({ id, revoked }) => [id, revoked])
    assert.deepStrictEqual(revoked(inner), [["a", true], ["c", undefined]])
    assert.deepStrictEqual(revoked(top), [["a", true], ["b", true], ["c", undefined]])
    assert.deepStrictEqual([inner.tally!.revoked, top.tally!.revoked], [["a"], ["a", "b"]])
    revokeDone(top, ["c", "d"])
    addDone(top, write("d"), undefined)
    assert.deepStrictEqual(revoked(top).slice(-2), [["c", true], ["d", true]])
    assert.deepStrictEqual(revoked(inner), [["a", true], ["c", undefined]])
  })

  it("are those of the snapshot that a run goes on from, before all others", () => {
    const done = new DoneWrites(true, undefined, [write("a"), write("b")])
    addDone(openRun({ done, parent: undefined, outerCall: undefined, tally: undefined }), write("c"), undefined)
    assert.deepStrictEqual([ids(done), done.get("c")!.position, done.isCompensating], [["a", "b", "c"], 2, false])
  })
})

describe("runs within a run", () => {
  it("are counted by name, also over a pause, and interrupted while they run", () => {
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

  it("goes on without an answer that was cut off last", () => {
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

  it("takes back the model's last answers, and marks those that the program gave", () => {
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

  it("says beside a result that it is undone, and leaves the others as they are", () => {
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

  it("says beside a result which writes of its call are undone, and which may be", () => {
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

  it("knows the tasks that have begun, until it begins anew", () => {
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
