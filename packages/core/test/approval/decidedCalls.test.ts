/** Calls decided by a person: their arguments and their authors, for the model, the audit, events and the record. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Agent, Approval, Audit, Recovery, type RunRecord, Tool, ToolCall } from "@recourse/core"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"
import { collect, lastResults } from "../support/kit.ts"

const N = Schema.Struct({ n: Schema.Int })

type Call = Effect.Effect<unknown, unknown, ToolCall.ToolCall>
type Named = Tool.Any & { readonly call: Call }
type Agents =
  & Agent.Agent<string, string, unknown, never>
  & Agent.Resumable<string, string, unknown, never, never>

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

/** Tools that record their arguments; a fixer makes 7 of a value that is no number. */
const worldOf = () => {
  const log: Array<string> = []
  let fixes = 0
  const tool = (name: string, options: object = {}): Named =>
    Tool.make(name, {
      parameters: N,
      success: Schema.String,
      effects: "write",
      execute: ({ n }: typeof N.Type) => Effect.sync(() => (log.push(`${name} ${n}`), `${name} ${n}`)),
      ...options
    } as never) as never
  const fixer = Agent.fromFunction("fixer", () => Effect.sync(() => (fixes++, "{\"n\":7}")))
  const fixed = (tool: Named): Named =>
    (tool as never as Tool.Tool<string, never, never, never, never>).pipe(
      Tool.onError(Recovery.fix("InvalidArgs", fixer as never) as never)
    ) as never
  const pay = tool("pay", { needsApproval: true })
  const making = (inner: Named, n: unknown): Call =>
    Effect.provideService(inner.call, ToolCall.ToolCall, ToolCall.make({ id: "i", arguments: { n } }))
  /** Makes a call of another tool. */
  const outer = (inner: Named, n: unknown): Named =>
    tool("outer", { effects: "read", mayRequestApproval: true, execute: () => making(inner, n) })
  return { fixed, fixes: () => fixes, log, making, outer, pay, tool }
}

const agentOf = (tools: ReadonlyArray<Tool.Any>, options: object = {}): Agents =>
  Agent.make("desk", { tools, defaults: { onError: Recovery.standard }, ...options } as never) as never

const decisions = {
  approve: (call: Approval.PendingCall) => Approval.approve(call, { by: "ada" }),
  edit: (call: Approval.PendingCall) => Approval.edit(call, { n: 9 }, { by: "ada" }),
  "edit, by nobody": (call: Approval.PendingCall) => Approval.edit(call, { n: 9 }),
  reject: (call: Approval.PendingCall) => Approval.reject(call, "too much", { by: "ada" }),
  respond: (call: Approval.PendingCall) => Approval.respond(call, "paid by hand", { by: "ada" })
}
type Decided = keyof typeof decisions

/** The model's call, and a person's view of it. */
const played = (tool: Named, n: unknown, decided: Decided, options: object = {}) =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    const audit: Array<Audit.AuditRecord> = []
    const asked: Array<Approval.PendingCall> = []
    const prompts: Array<ScriptedModel.Request["prompt"]> = []
    const model = ScriptedModel.layer((request, index) => {
      prompts.push(request.prompt)
      return ScriptedModel.steps([
        ScriptedModel.call(tool.name, { n }, { id: "c" }),
        ScriptedModel.text("done")
      ])(request, index)
    })
    const agent = agentOf([tool], options).pipe(
      Approval.interactive((call: Approval.PendingCall) =>
        Effect.sync(() => (asked.push(call), decisions[decided](call)))
      ) as never
    ) as never as Agents
    const { exit, executed } = yield* agent.report("go").pipe(
      Effect.provide(
        Layer.mergeAll(key, layer, model, Audit.layer((record) => Effect.sync(() => void audit.push(record))))
      )
    ) as Effect.Effect<RunRecord.RunRecord & { readonly exit: Exit.Exit<unknown, unknown> }>
    const result = lastResults(prompts.at(-1)!)[0] as unknown as {
      readonly result: unknown
      readonly options: { readonly recourse?: { readonly repaired?: unknown } }
    }
    return {
      asked: asked.map(({ arguments: args, argumentsHash, callId, fixedBy }) => ({
        args,
        argumentsHash,
        callId,
        fixedBy
      })),
      audit: audit.map(({ argumentsHash, by, callId, decision }) => [decision, callId, argumentsHash, by]),
      executed: executed.map(({ arguments: args, callId, fixedBy, outcome }) => [callId, args, fixedBy, outcome]),
      exit,
      repaired: result.options.recourse?.repaired,
      told: result.result,
      started: events.flatMap((event) =>
        event._tag === "ToolCallStarted" ? [[event.callId, event.arguments, event.resumed]] : []
      )
    }
  })

/** Places of a question: the call with its arguments, and their author. */
const places: Readonly<
  Record<string, {
    readonly make: (world: ReturnType<typeof worldOf>) => Named
    /** The model's argument. */
    readonly n: unknown
    readonly asked: { readonly callId: string; readonly n: number; readonly fixedBy?: string }
    /** Whose arguments the call around it has. */
    readonly around?: "fixer" | undefined
  }>
> = {
  "the model's call": { make: ({ pay }) => pay, n: 3, asked: { callId: "c", n: 3 } },
  "the model's call, fixed": {
    make: ({ fixed, pay }) => fixed(pay),
    n: "three",
    asked: { callId: "c", n: 7, fixedBy: "fixer" }
  },
  "a tool's call": { make: ({ outer, pay }) => outer(pay, 3), n: 1, asked: { callId: "c/i", n: 3 } },
  "a tool's call, fixed": {
    make: ({ fixed, outer, pay }) => outer(fixed(pay), "three"),
    n: 1,
    asked: { callId: "c/i", n: 7, fixedBy: "fixer" }
  },
  "a tool's call, where that tool's is fixed": {
    make: ({ fixed, outer, pay }) => fixed(outer(pay, 3)),
    n: "one",
    asked: { callId: "c/i", n: 3 },
    around: "fixer"
  }
}

const hash = (n: number) => createHash("sha256").update(JSON.stringify({ n })).digest("hex")

describe("a decided call", () => {
  for (const [place, { around, asked, make, n }] of Object.entries(places)) {
    for (const decided of Object.keys(decisions) as ReadonlyArray<Decided>) {
      it.effect(`${place}: ${decided}`, () =>
        Effect.gen(function*() {
          const here = worldOf()
          const ran = yield* played(make(here), n, decided)
          const by = decided === "edit, by nobody" ? undefined : "ada"
          const isEdited = decided.startsWith("edit")
          const isRun = isEdited || decided === "approve"
          const used = isEdited ? 9 : asked.n
          const usedBy = isEdited ? by ?? "approval" : asked.fixedBy
          const text = JSON.stringify({ n: used })
          const isOwn = asked.callId === "c"
          assert.isTrue(Exit.isSuccess(ran.exit))

          // The person is shown the arguments of the execution.
          assert.deepStrictEqual(ran.asked, [
            { args: { n: asked.n }, argumentsHash: hash(asked.n), callId: asked.callId, fixedBy: asked.fixedBy }
          ])
          // The call runs once with that, or not at all; the fixer is not asked again.
          assert.deepStrictEqual(here.log, isRun ? [`pay ${used}`] : [])
          assert.strictEqual(here.fixes(), asked.fixedBy === undefined && around === undefined ? 0 : 1)

          const verdict = { approve: "approved", edit: "edited", reject: "rejected", respond: "responded" }
          assert.deepStrictEqual(ran.audit.map(([decision, callId, , by]) => [decision, callId, by]), [
            ["approval_requested", asked.callId, undefined],
            [verdict[decided.split(",")[0] as keyof typeof verdict], asked.callId, by]
          ])
          assert.strictEqual(ran.audit[1]![2], hash(used))

          // The model reads the result, and the author of its call's arguments.
          if (decided === "reject") {
            assert.deepInclude(ran.told, {
              code: "permission_denied",
              message_for_model: "A person rejected this call: too much"
            })
          } else assert.strictEqual(ran.told, isRun ? `pay ${used}` : "paid by hand")
          const repairedBy = isOwn ? usedBy : around
          assert.deepStrictEqual(
            ran.repaired,
            repairedBy === undefined ? undefined : { arguments: isOwn ? text : "{\"n\":7}", by: repairedBy }
          )

          const made = ran.executed.filter(([id]) => id === asked.callId)
          assert.deepStrictEqual(made, isRun ? [[asked.callId, text, usedBy, "success"]] : [])
          if (around !== undefined) {
            for (const [id, args, by] of ran.executed) {
              if (id === "c") assert.deepStrictEqual([args, by], ["{\"n\":7}", around])
            }
          }

          // Listeners receive the start and the resumption of the model's call.
          const own = ran.started.filter(([id]) => id === "c")
          assert.deepStrictEqual(own[0], ["c", JSON.stringify({ n }), false])
          assert.strictEqual(own.length, 2)
          if (isOwn || decided === "reject") assert.isTrue(own[1]![2])
          if (isOwn) assert.strictEqual(own[1]![1], isRun ? text : JSON.stringify({ n }))
        }))
    }
  }
})

describe("a rejection", () => {
  for (
    const [what, before, after, isReported] of [
      ["of an agent that undoes then, with something to undo, says so", true, ["rejection"], true],
      ["of an agent that undoes then, with nothing to undo, does not", false, ["rejection"], false],
      ["of an agent that does not undo then, does not", true, ["failure"], false]
    ] as const
  ) {
    it.effect(`${what}`, () =>
      Effect.gen(function*() {
        const { pay, tool } = worldOf()
        const book = tool("book", { compensate: () => Effect.void })
        const agent = agentOf([pay, book], { compensation: { after } })
        const turns = [
          ...(before ? [ScriptedModel.call("book", { n: 1 }, { id: "b" })] : []),
          ScriptedModel.call("pay", { n: 3 }, { id: "c" })
        ]
        const { events, layer } = collect()
        const paused = yield* agent.start("go").pipe(
          Effect.provide([key, ScriptedModel.layer(turns)])
        ) as Effect.Effect<Approval.Paused>
        yield* Effect.exit(agent.resume(paused.snapshot, [Approval.reject(paused.pending[0]!, "no")])).pipe(
          Effect.provide([key, layer, ScriptedModel.layer([ScriptedModel.text("done")])])
        ) as Effect.Effect<unknown>
        const told = events.find((event) => event._tag === "ToolResult" && event.callId === "c")
        assert.strictEqual(/compensated/.test(JSON.stringify(told)), isReported, JSON.stringify(told))
      }))
  }
})

describe("an approval", () => {
  for (const [late, isRun] of [[0, true], [1, false]] as const) {
    it.effect(`${late} ms behind its last moment ${isRun ? "counts" : "does not count"}`, () =>
      Effect.gen(function*() {
        const { log, outer, pay } = worldOf()
        for (const [tool, n] of [[pay, 3], [outer(pay, 3), 1]] as const) {
          const agent = agentOf([tool], { approval: { timeToLive: "1 hour" } })
          const model = ScriptedModel.layer(
            ScriptedModel.steps([ScriptedModel.call(tool.name, { n }, { id: "c" }), ScriptedModel.text("done")])
          )
          log.length = 0
          const resumed = Effect.gen(function*() {
            const paused = (yield* agent.start("go")) as Approval.Paused
            yield* TestClock.adjust(3_600_000 + late)
            return yield* agent.resume(paused.snapshot, [Approval.approve(paused.pending[0]!)])
          })
          const outcome = yield* resumed.pipe(Effect.provide([key, model])) as Effect.Effect<Approval.Outcome<string>>
          assert.deepStrictEqual([log, outcome._tag], isRun ? [["pay 3"], "Completed"] : [[], "Paused"])
        }
      }))
  }
})

it.effect("a snapshot of a call that waits itself has only the question", () =>
  Effect.gen(function*() {
    const { pay } = worldOf()
    const { snapshot } = yield* agentOf([pay]).start("go").pipe(
      Effect.provide([key, ScriptedModel.layer([ScriptedModel.call("pay", { n: 3 }, { id: "c" })])])
    ) as Effect.Effect<Approval.Paused>
    assert.deepStrictEqual(Object.keys(snapshot.round!).toSorted(), ["calls", "pending", "results"])
  }))

/** Pauses of an agent, each resumed from its snapshot by approving all, and the questions. */
const pausesOf = (agent: Agents, turns: Parameters<typeof ScriptedModel.steps>[0]) =>
  Effect.gen(function*() {
    const asked: Array<string> = []
    const snapshots: Array<Approval.Snapshot> = []
    let outcome = yield* agent.start("go")
    while (outcome._tag === "Paused") {
      const { pending, snapshot } = outcome
      asked.push(...pending.map(({ callId }) => callId))
      snapshots.push(snapshot)
      assert.isBelow(snapshots.length, 9)
      outcome = yield* agent.resume(JSON.parse(JSON.stringify(snapshot)), pending.map((call) => Approval.approve(call)))
    }
    return { asked, outcome, snapshots }
  }).pipe(Effect.orDie, Effect.provide([key, ScriptedModel.layer(ScriptedModel.steps(turns))]))

const callThen = (tool: Named, n: unknown) =>
  [ScriptedModel.call(tool.name, { n }, { id: "c" }), ScriptedModel.text("done")] as const

describe("a snapshot", () => {
  for (const [place, { make, n }] of Object.entries(places)) {
    it.effect(`is JSON as it is, at each pause: ${place}`, () =>
      Effect.gen(function*() {
        const here = worldOf()
        const { making, outer, pay, tool } = here
        const again = tool("again", { needsApproval: true })
        const inner = make(here)
        const both = tool("both", {
          effects: "read",
          mayRequestApproval: true,
          execute: () => Effect.andThen(making(inner, n), making(again, 1))
        })
        for (const one of [inner, both, outer(both, 1)]) {
          here.log.length = 0
          const { snapshots } = yield* pausesOf(agentOf([one]), callThen(one, one === inner ? n : 1))
          assert.isAbove(snapshots.length, one === inner ? 0 : 1)
          for (const snapshot of snapshots) assert.deepStrictEqual(JSON.parse(JSON.stringify(snapshot)), snapshot)
          assert.strictEqual(here.log.filter((line) => line.startsWith(pay.name)).length, 1)
        }
      }))
  }
})

describe("an admitted call stays admitted over an inner pause", () => {
  for (const n of [1, "one"]) {
    it.effect(`with arguments ${n === 1 ? "of the model" : "of a fixer"}`, () =>
      Effect.gen(function*() {
        const { fixed, log, making, pay, tool } = worldOf()
        const outer = fixed(tool("outer", {
          effects: "read",
          mayRequestApproval: true,
          needsApproval: true,
          execute: () => making(pay, 3)
        }))
        const { asked } = yield* pausesOf(agentOf([outer]), callThen(outer, n))
        assert.deepStrictEqual([asked, log], [["c", "c/i"], ["pay 3"]])
      }))
  }
})

it.effect("an approved call starts though its recovery's earlier calls are not replayed", () =>
  Effect.gen(function*() {
    const { log, making, pay, tool } = worldOf()
    const note = tool("note")
    let times = 0
    const noting = (pay as never as Tool.Tool<string, never, never, never, never>).pipe(
      Tool.onError(
        ((call: Call) => Effect.suspend(() => times++ === 0 ? Effect.andThen(making(note, 1), call) : call)) as never
      )
    ) as never as Named
    const { asked } = yield* pausesOf(agentOf([noting]), callThen(noting, 3))
    assert.deepStrictEqual([asked, log], [["c"], ["note 1", "pay 3"]])
  }))
