import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Redacted, Result } from "effect"
import { Agent, Approval, Recovery } from "@recourse/core"
import { collect } from "../support/kit.ts"
import { Note, Refund } from "../support/refundTools.ts"

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

const desk = (log: Array<string>) =>
  Agent.make("desk", { tools: [Refund(log), Note(log)], defaults: { onError: Recovery.standard } })

/** A run that waits for one refund. */
const waiting = (log: Array<string>) =>
  Effect.gen(function*() {
    const outcome = yield* desk(log).start("go").pipe(
      Effect.provide(
        Layer.merge(key, ScriptedModel.layer([ScriptedModel.call("refund", { order: "A-1", amount: 500 })]))
      )
    )
    assert.strictEqual(outcome._tag, "Paused")
    return outcome as Approval.Paused
  })

/** The error of a resumption; no call may run, and no request reach the model. */
const refusal = (log: Array<string>, snapshot: unknown, decisions: unknown) =>
  Effect.gen(function*() {
    const { layer, tags } = collect()
    const exit = yield* Effect.exit(
      desk(log).resume(snapshot, decisions as ReadonlyArray<Approval.Decision>).pipe(
        Effect.provide(Layer.mergeAll(key, layer, ScriptedModel.layer([])))
      )
    )
    assert.deepStrictEqual([log, tags()], [[], []])
    assert.isTrue(exit._tag === "Failure" && exit.cause.reasons.every((reason) => reason._tag === "Fail"), String(exit))
    return yield* Effect.flip(exit)
  })

describe("decisions come from outside", () => {
  it.effect("refuses decisions that are no list, with a reason, without running", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { pending, snapshot } = yield* waiting(log)
      const call = pending[0]!
      const { argumentsHash, callId } = call
      const approve: Approval.Decision = Approval.approve(call)
      const circular: Record<string, unknown> = { ...approve }
      circular["by"] = circular
      let deep: unknown = "x"
      for (let n = 0; n < 100_000; n++) deep = [deep]
      const inherited = Object.assign(Object.create({ _tag: "Approve" }), { callId, argumentsHash })
      const refused: ReadonlyArray<readonly [what: unknown, reason: string, callId: string | undefined]> = [
        [[{ _tag: "Deny", callId, argumentsHash }], "malformed", callId],
        [[{ callId, argumentsHash }], "malformed", callId],
        [[{ _tag: "approve", callId, argumentsHash }], "malformed", callId],
        [[{ _tag: "__proto__", callId, argumentsHash }], "malformed", callId],
        [[{ _tag: "Approve", callId }], "malformed", callId],
        [[{ _tag: "Approve", callId, argumentsHash: 7 }], "malformed", callId],
        [[{ _tag: "Approve", argumentsHash }], "malformed", undefined],
        [[{ _tag: "Approve", callId: 7, argumentsHash }], "malformed", undefined],
        [[{ ...approve, override: true }], "malformed", callId],
        [[{ ...approve, by: 7 }], "malformed", callId],
        [[{ _tag: "Reject", callId, argumentsHash }], "malformed", callId],
        [[{ _tag: "Edit", callId, argumentsHash }], "malformed", callId],
        [[{ _tag: "Edit", callId, argumentsHash, arguments: "{}" }], "malformed", callId],
        [[{ _tag: "Edit", callId, argumentsHash, arguments: { n: 1n } }], "malformed", callId],
        [[{ _tag: "Respond", callId, argumentsHash }], "malformed", callId],
        [[inherited], "malformed", callId],
        [[{ _tag: "Edit", callId, argumentsHash, arguments: { deep } }], "malformed", callId],
        [[circular], "malformed", callId],
        [[approve, { _tag: "Deny", callId: "other", argumentsHash }], "malformed", "other"],
        [[approve, null], "malformed", undefined],
        [[[approve]], "malformed", undefined],
        [{ 0: approve, length: 1 }, "malformed", undefined],
        [approve, "malformed", callId],
        [JSON.stringify([approve]), "malformed", undefined],
        [new Set([approve]), "malformed", undefined],
        [undefined, "malformed", undefined],
        [null, "malformed", undefined],
        [[approve, approve], "twice", callId],
        [[approve, Approval.reject(call, "no")], "twice", callId],
        [[{ ...approve, callId: "call_9" }], "unknown_call", "call_9"],
        [[{ ...approve, callId: "toString" }], "unknown_call", "toString"],
        [[{ ...approve, argumentsHash: argumentsHash.toUpperCase() }], "other_arguments", callId]
      ]
      for (const [decisions, reason, id] of refused) {
        const error = yield* refusal(log, snapshot, decisions)
        assert.strictEqual(error._tag, "DecisionRefused")
        if (error._tag !== "DecisionRefused") continue
        assert.deepStrictEqual([error.reason, error.callId], [reason, id], String(error.issues?.[0]?.expected))
        assert.isString(error.message)
      }
      const outcome = yield* desk(log).resume(snapshot, [approve]).pipe(
        Effect.provide(Layer.merge(key, ScriptedModel.layer([ScriptedModel.text("done")])))
      )
      assert.deepStrictEqual(outcome, new Approval.Completed({ output: "done" }))
      assert.deepStrictEqual(log, ["refund A-1 500"])
    }))

  it.effect("refuses with the expectation, and without the sent values", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { pending, snapshot } = yield* waiting(log)
      const error = yield* refusal(log, snapshot, [{ ...Approval.approve(pending[0]!), by: { secret: "hunter2" } }])
      assert.strictEqual(error._tag, "DecisionRefused")
      assert.notInclude(JSON.stringify(error), "hunter2")
      assert.deepStrictEqual(error._tag === "DecisionRefused" ? error.issues?.map(({ path }) => path) : [], [[0, "by"]])
    }))

  it("decisions of unknown origin are read with a typed refusal", () => {
    const decision = { _tag: "Approve", callId: "c", argumentsHash: "00", by: "ada" }
    assert.deepStrictEqual(
      Result.getOrThrow(Approval.decodeDecisions(JSON.parse(JSON.stringify([decision])))),
      [decision] as never
    )
    const refused = Approval.decodeDecisions([{ ...decision, _tag: "Deny" }])
    assert.strictEqual(Result.isFailure(refused) ? refused.failure.reason : "", "malformed")
  })
})

describe("snapshots come from outside", () => {
  it.effect("refuses a value that is no snapshot, with a reason", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { snapshot } = yield* waiting(log)
      const circular: Record<string, unknown> = { ...snapshot }
      circular["transcript"] = circular
      let deep: unknown = "x"
      for (let n = 0; n < 100_000; n++) deep = [deep]
      const { mac, ...unsigned } = snapshot
      assert.isString(mac)
      const refused: ReadonlyArray<readonly [what: unknown, reason: Approval.SnapshotRefused["reason"]]> = [
        [undefined, "tampered"],
        [null, "tampered"],
        [7, "tampered"],
        ["what", "tampered"],
        [[], "tampered"],
        [() => snapshot, "tampered"],
        [{}, "tampered"],
        [unsigned, "tampered"],
        [{ ...snapshot, mac: 7 }, "tampered"],
        [{ ...snapshot, mac: "" }, "tampered"],
        [{ ...snapshot, extra: true }, "tampered"],
        [{ ...snapshot, turn: 1.5 }, "tampered"],
        [{ ...snapshot, turn: 1n }, "tampered"],
        [circular, "tampered"],
        [{ ...snapshot, transcript: deep }, "tampered"],
        [{ ...snapshot, version: 999 }, "version"],
        [{ ...snapshot, version: "2" }, "tampered"],
        [{ ...snapshot, taintedBy: ["fetch"] }, "tampered"]
      ]
      for (const [value, reason] of refused) {
        const error = yield* refusal(log, value, [])
        assert.strictEqual(error._tag, "SnapshotRefused")
        assert.strictEqual(error._tag === "SnapshotRefused" ? error.reason : "", reason)
      }
    }))
})

describe("keys", () => {
  const secret = (char: string) => Redacted.make(char.repeat(32))
  const resumeWith = (keys: Layer.Layer<Approval.SnapshotKey>, snapshot: unknown) =>
    desk([]).resume(snapshot, []).pipe(Effect.provide(Layer.merge(keys, ScriptedModel.layer([]))), Effect.exit)
  const waitingWith = (keys: Layer.Layer<Approval.SnapshotKey>) =>
    desk([]).start("go").pipe(
      Effect.provide(
        Layer.merge(keys, ScriptedModel.layer([ScriptedModel.call("refund", { order: "A-1", amount: 500 })]))
      ),
      Effect.map((outcome) => (outcome as Approval.Paused).snapshot)
    )

  it.effect("resumes a snapshot of an earlier key, and signs with the current one", () =>
    Effect.gen(function*() {
      const old = yield* waitingWith(Approval.layerKey(secret("a")))
      const rotated = Approval.layerKey(secret("b"), { earlier: [secret("z"), secret("a")] })
      const exit = yield* resumeWith(rotated, old)
      assert.strictEqual(exit._tag === "Success" ? exit.value._tag : "", "Paused")
      const again = exit._tag === "Success" && exit.value._tag === "Paused" ? exit.value.snapshot : undefined
      assert.isDefined(again)
      const current = yield* resumeWith(Approval.layerKey(secret("b")), again)
      assert.strictEqual(current._tag, "Success")
    }))

  it.effect("a key that is not listed any more signs no snapshot", () =>
    Effect.gen(function*() {
      const old = yield* waitingWith(Approval.layerKey(secret("a")))
      const exit = yield* resumeWith(Approval.layerKey(secret("b"), { earlier: [secret("c")] }), old)
      assert.strictEqual(exit._tag === "Failure" ? (yield* Effect.flip(exit))._tag : "", "SnapshotRefused")
    }))

  it.effect("the service may be a key alone", () =>
    Effect.gen(function*() {
      const plain = Layer.succeed(Approval.SnapshotKey, secret("a"))
      const snapshot = yield* waitingWith(plain)
      assert.strictEqual((yield* resumeWith(Approval.layerKey(secret("a")), snapshot))._tag, "Success")
    }))

  it("short keys are refused, earlier ones too", () => {
    assert.throws(() => Approval.layerKey(Redacted.make("short")))
    assert.throws(() => Approval.layerKey(secret("a"), { earlier: [Redacted.make("short")] }))
  })
})

describe("an approval without an end", () => {
  it.effect("is a snapshot like others", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = Agent.make("desk", {
        tools: [Refund(log)],
        defaults: { onError: Recovery.standard },
        approval: { timeToLive: Infinity }
      })
      const outcome = yield* agent.start("go").pipe(Effect.provide(
        Layer.merge(key, ScriptedModel.layer([ScriptedModel.call("refund", { order: "A-1", amount: 500 })]))
      ))
      const { pending, snapshot } = outcome as Approval.Paused
      const resumed = yield* agent.resume(JSON.parse(JSON.stringify(snapshot)), [Approval.approve(pending[0]!)]).pipe(
        Effect.provide(Layer.merge(key, ScriptedModel.layer([ScriptedModel.text("done")])))
      )
      assert.strictEqual(resumed._tag, "Completed")
      assert.deepStrictEqual(log, ["refund A-1 500"])
    }))
})
