/**
 * A call waits itself, or its agent does, behind calls of its recovery, its policies or an earlier attempt: they are
 * not repeated.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, Policy, Recovery, Tool, ToolCall } from "@recourse/core"

const Args = Schema.Struct({ amount: Schema.Number })

type Call = Effect.Effect<unknown, unknown, ToolCall.ToolCall>
type Named = Tool.Any & { readonly call: Call }
type Lead = Agent.Agent<string, string, unknown, never> & Agent.Resumable<string, string, unknown, never, never>

/** A tool that logs its executions. */
const tool = (log: Array<string>, name: string, options: object = {}): Named =>
  Tool.make(name, {
    parameters: Args,
    success: Schema.Number,
    effects: "write",
    execute: ({ amount }: typeof Args.Type) => Effect.sync(() => (log.push(`${name} ${amount}`), amount)),
    ...options
  } as never) as never

const made = (note: Named, amount = 1): Call =>
  Effect.provideService(note.call, ToolCall.ToolCall, ToolCall.make({ id: "n", arguments: { amount } }))

const around = (inner: Named, recovery: (call: Call) => Call): Named =>
  inner.pipe(Tool.onError(recovery as never)) as never

const agentOf = (name: string, tools: ReadonlyArray<Tool.Any>, options: object = {}): Lead =>
  Agent.make(
    name,
    {
      instructions: name,
      ...(name === "clerk" ? { input: Args, prompt: () => "go" } : undefined),
      tools,
      defaults: { onError: Recovery.standard },
      ...options
    } as never
  ) as never

const asks = { needsApproval: true }

/** An agent that waits for `pay`, as a tool. */
const clerk = (log: Array<string>): Named =>
  Agent.asTool("pay", { description: "Pays", parameters: Args, success: Schema.String } as never)(
    agentOf("clerk", [tool(log, "pay", asks)]) as never
  ) as never

/** Calls of `note` before `pay` waits. */
const places: Readonly<Record<string, (log: Array<string>, note: Named) => Lead>> = {
  "its recovery": (log, note) =>
    agentOf("lead", [around(tool(log, "pay", asks), (call) => Effect.andThen(made(note), call))]),
  "the recovery of an agent that waits": (log, note) =>
    agentOf("lead", [around(clerk(log), (call) => Effect.andThen(made(note), call))]),
  "a policy": (log, note) =>
    agentOf("lead", [tool(log, "pay", asks)], {
      policies: [
        Policy.make("notes", () => Effect.as(Effect.orDie(made(note)), Policy.allow) as never).pipe(
          Policy.forTools("pay" as never)
        )
      ]
    }),
  "an earlier attempt": (log, note) => {
    const fixer = Agent.fromFunction("fixer", () => Effect.succeed(JSON.stringify({ amount: 500 })))
    const pay = tool(log, "pay", {
      effects: "read",
      mayRequestApproval: true,
      needsApproval: ({ amount }: typeof Args.Type) => amount === 500,
      execute: ({ amount }: typeof Args.Type) =>
        Effect.andThen(
          made(note),
          amount === 500 ? Effect.sync(() => (log.push("pay 500"), amount)) : Effect.fail("down")
        )
    })
    return agentOf("lead", [pay.pipe(Tool.onError(Recovery.fix("ExecutionError", fixer as never) as never)) as never])
  },
  "its fixer": (log, note) => {
    const fixer = agentOf("fixer", [note])
    const pay = tool(log, "pay", asks)
    return agentOf("lead", [pay.pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer as never) as never)) as never])
  }
}

const model = (place: string) =>
  ScriptedModel.layer(({ prompt }) => {
    const name = prompt.content[0]?.content
    const isBehind = prompt.content.at(-1)?.role === "tool"
    if (name === "fixer") {
      return isBehind ? ScriptedModel.text("{\"amount\":500}") : ScriptedModel.call("note", { amount: 1 }, { id: "f" })
    }
    if (isBehind) return ScriptedModel.text("done")
    const amount = place === "its fixer" ? "much" : place === "an earlier attempt" && name === "lead" ? 7 : 500
    return ScriptedModel.call("pay", { amount }, { id: name === "clerk" ? "q" : "c" })
  })

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

/** Runs here have the same ids as those of other tests. */
const resumptions = Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) })
let runs = 0

const live = (place: string, run: Effect.Effect<Approval.Outcome<string>, unknown>) =>
  Effect.map(
    VirtualTime.run(Effect.provide(run, Layer.mergeAll(key, resumptions, model(place))) as typeof run, {
      identity: ++runs
    }),
    ({ exit }) => {
      if (Exit.isFailure(exit)) throw new Error(Cause.pretty(exit.cause))
      return exit.value
    }
  )

/** A run that is resumed as long as it asks, and its questions. */
const played = (place: string, make: () => Lead, decide: (call: Approval.PendingCall) => Approval.Decision) =>
  Effect.gen(function*() {
    const asked: Array<string> = []
    let outcome = yield* live(place, make().start("go"))
    while (outcome instanceof Approval.Paused && asked.length < 5) {
      asked.push(...outcome.pending.map(({ callId, tool }) => `${tool} ${callId}`))
      const stored = JSON.parse(JSON.stringify(outcome.snapshot))
      outcome = yield* live(place, make().resume(stored, outcome.pending.map(decide)))
    }
    return { asked, outcome }
  })

const approve = (call: Approval.PendingCall) => Approval.approve(call)

describe("a tool's call before another call waits runs once: by", () => {
  for (const [place, make] of Object.entries(places)) {
    const question = place === "the recovery of an agent that waits" ? "pay c/q" : "pay c"
    it.effect(place, () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const { asked, outcome } = yield* played(place, () => make(log, tool(log, "note")), approve)
        assert.deepStrictEqual([log, asked], [["note 1", "pay 500"], [question]])
        assert.deepStrictEqual(outcome, new Approval.Completed({ output: "done" }))
      }))

    if (place === "its fixer") continue
    for (const effects of ["read", "write"] as const) {
      it.effect(`${place}, when that waits as well (${effects})`, () =>
        Effect.gen(function*() {
          const log: Array<string> = []
          const { asked, outcome } = yield* played(
            place,
            () => make(log, tool(log, "note", { effects, needsApproval: true })),
            approve
          )
          assert.deepStrictEqual(asked, ["note c/n", question])
          assert.deepStrictEqual(
            log.filter((line) => effects === "write" || line !== "note 1"),
            effects === "write" ? ["note 1", "pay 500"] : ["pay 500"]
          )
          assert.deepStrictEqual(outcome, new Approval.Completed({ output: "done" }))
        }))
    }
  }
})

describe("a call after its recovery's calls", () => {
  const place = "its recovery"

  it.effect("is reported as partly done if rejected, and does not start", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const make = () => places[place]!(log, tool(log, "note"))
      const { outcome } = yield* played(place, make, (call) => Approval.reject(call, "no"))
      assert.deepStrictEqual([log, outcome._tag], [["note 1"], "Completed"])
    }))

  it.effect("a call that a person answers does not run", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const make = () => places[place]!(log, tool(log, "note"))
      const { outcome } = yield* played(place, make, (call) => Approval.respond(call, 3))
      assert.deepStrictEqual([log, outcome._tag], [["note 1"], "Completed"])
    }))

  it.effect("an edited call runs as edited", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const make = () => places[place]!(log, tool(log, "note"))
      yield* played(place, make, (call) => Approval.edit(call, { amount: 90 }))
      assert.deepStrictEqual(log, ["note 1", "pay 90"])
    }))

  for (const at of ["its recovery", "the recovery of an agent that waits"]) {
    it.effect(`does not wait behind a call of unknown outcome: ${at}`, () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const note = tool(log, "note", {
          execute: () => Effect.andThen(Effect.sync(() => log.push("note")), Effect.fail("lost"))
        })
        const careless = { ...note, call: Effect.ignore(note.call) } as Named
        const { asked, outcome } = yield* played(at, () => places[at]!(log, careless), approve)
        assert.deepStrictEqual([log, asked, outcome._tag], [["note"], [], "Completed"])
      }))
  }
})

it.effect("keeps the question though a policy ignores its own call's wait", () =>
  Effect.gen(function*() {
    const log: Array<string> = []
    const note = tool(log, "note", asks)
    const make = () =>
      agentOf("lead", [tool(log, "pay", asks)], {
        policies: [
          Policy.make("notes", () => Effect.as(Effect.exit(made(note)), Policy.allow) as never).pipe(
            Policy.forTools("pay" as never)
          )
        ]
      })
    const { asked } = yield* played("a policy", make, approve)
    assert.deepStrictEqual(asked, ["note c/n", "pay c"])
    assert.deepStrictEqual(log, ["note 1", "pay 500"])
  }))
