/** An interrupted resumption whose snapshot another process takes over: it continues if no effect can be repeated. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, type Exit, Layer, Option, Redacted, Schema } from "effect"
import { Agent, Approval, IdempotencyLedger, Recovery, RunRecord, Tool } from "@recourse/core"

const key = Approval.layerKey(Redacted.make("k".repeat(32)))
const { call, calls, text } = ScriptedModel

const failovers = Layer.succeed(Approval.Resumptions, {
  claim: () => Effect.succeed({ isTakenOver: true, end: () => Effect.void })
})

const tools = (done: Array<string>) => {
  const asking = <const Name extends string, const Effects extends "read" | "write" | "idempotent">(
    name: Name,
    effects: Effects,
    more: { readonly idempotency?: true } = {}
  ) =>
    Tool.make(name, {
      success: Schema.String,
      effects,
      needsApproval: true,
      execute: () => Effect.sync(() => (done.push(name), name)),
      ...more
    } as never) as never as Tool.Tool<Name, Schema.Struct<{}>, Schema.String, never, never>
  const inner = Agent.make("inner", {
    instructions: "inner",
    tools: [asking("look", "read")],
    defaults: { onError: Recovery.standard }
  })
  return [
    asking("pay", "write"),
    asking("keyed", "write", { idempotency: true }),
    asking("put", "idempotent"),
    asking("look", "read"),
    inner.pipe(Agent.asTool("delegate", { description: "Delegates", effects: "write" } as never))
  ]
}

type Decides = (pending: Approval.PendingCall) => Approval.Decision
const approve: Decides = (pending) => Approval.approve(pending)
const edit: Decides = (pending) => Approval.edit(pending, {})
const reject: Decides = (pending) => Approval.reject(pending, "no")
const respond: Decides = (pending) => Approval.respond(pending, "by hand")

const cases: Readonly<
  Record<string, readonly [ReadonlyArray<readonly [tool: string, Decides]>, "continues" | "is left"]>
> = {
  "a write without a key": [[["pay", approve]], "is left"],
  "a write without a key, with other arguments": [[["pay", edit]], "is left"],
  "a write with a key": [[["keyed", approve]], "continues"],
  "what can be repeated": [[["put", approve]], "continues"],
  "a read": [[["look", approve]], "continues"],
  "a write that is refused": [[["pay", reject]], "continues"],
  "a write that a person answers for": [[["pay", respond]], "continues"],
  "a write that is refused beside a read": [[["pay", reject], ["look", approve]], "continues"],
  "a write beside a read": [[["look", approve], ["pay", approve]], "is left"],
  "a read of an agent within": [[["delegate", approve]], "is left"]
}

describe("a resumption that was cut off, of", () => {
  for (const [what, [decided, fate]] of Object.entries(cases)) {
    it.effect(`${what}: ${fate}`, () =>
      Effect.gen(function*() {
        const done: Array<string> = []
        const desk = Agent.make("desk", {
          tools: tools(done) as never,
          defaults: { onError: Recovery.standard }
        }) as never as
          & Agent.Agent<string, string, never, never>
          & Agent.Resumable<string, string, never, never, never>
        const names = decided.map(([name]) => name)
        const model = ScriptedModel.layer(({ prompt, tools }) => {
          if (prompt.content.at(-1)?.role === "tool") return text("done")
          if (tools.length === 1) return call("look", {}, { id: "within" })
          return calls(names.map((name) => ({ name, params: name === "delegate" ? { input: "x" } : {}, id: name })))
        })
        const around = Layer.mergeAll(key, model, Layer.fresh(IdempotencyLedger.layerMemory))
        yield* Effect.gen(function*() {
          const paused = yield* desk.start("go")
          assert(paused._tag === "Paused")
          assert.strictEqual(paused.pending.length, decided.length)
          const decisions = paused.pending.map((one) => decided.find(([name]) => one.callId.startsWith(name))![1](one))
          const resumed = Effect.result(desk.resume(paused.snapshot, decisions)).pipe(Effect.provide(failovers))
          const result = yield* resumed
          const ran = decided.flatMap(([name, decide]) => decide === approve && name !== "delegate" ? [name] : [])
          if (fate === "continues") {
            assert.deepInclude(result, { _tag: "Success" })
            assert.deepStrictEqual(done, ran)
          } else {
            assert.strictEqual(result._tag, "Failure")
            if (result._tag === "Failure") {
              assert.deepInclude(result.failure, { _tag: "SnapshotRefused", agent: "desk", reason: "abandoned" })
            }
            assert.deepStrictEqual(done, [])
          }
        }).pipe(Effect.provide(around))
      }))
  }
})

it.effect("a run ended by its model without waits resumes safely", () =>
  Effect.gen(function*() {
    const done: Array<string> = []
    const agent = Agent.make("a", {
      tools: [Tool.make("note", { effects: "write", execute: () => Effect.sync(() => void done.push("note")) })]
    })
    const exit = yield* Effect.exit(agent.run("go")).pipe(
      Effect.provide(ScriptedModel.layer([call("note", {}), ScriptedModel.failure("NetworkError")]))
    )
    const record = Option.getOrThrow(RunRecord.fromCause((exit as Exit.Failure<never, never>).cause))
    const snapshot = Option.getOrThrow(yield* RunRecord.snapshot(record))
    const decided = agent.resume(snapshot, [{ _tag: "Approve", callId: "c1", argumentsHash: "h" }])
    assert.deepInclude(yield* Effect.flip(Effect.provide(decided, ScriptedModel.layer([]))), {
      _tag: "DecisionRefused",
      reason: "unknown_call"
    })
    const outcome = yield* agent.resume(snapshot, []).pipe(
      Effect.provide([failovers, ScriptedModel.layer([text("done")])])
    )
    assert.strictEqual(outcome._tag, "Completed")
    assert.deepStrictEqual(done, ["note"])
  }).pipe(Effect.provide(key)))
