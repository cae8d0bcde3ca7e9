/** Requests to a store of resumptions about a snapshot, and the texts of resumption errors. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Data, Deferred, Effect, Exit, Fiber, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, Audit, IdempotencyLedger, Tool } from "@recourse/core"
import { collectLogs, lastResults } from "../support/kit.ts"
import { Note, Refund } from "../support/refundTools.ts"

class Broken extends Data.TaggedError("Broken")<{}> {}

const key = Approval.layerKey(Redacted.make("k".repeat(32)))
const refund = ScriptedModel.call("refund", { order: "A-1", amount: 500 })

const Mail = Tool.make("mail", {
  success: Schema.String,
  effects: "write",
  execute: () => Effect.fail(new Broken())
})
const Read = Tool.make("read", {
  success: Schema.String,
  effects: "read",
  execute: () => Effect.fail(new Broken())
})
const Post = Tool.make("post", { success: Schema.String, effects: "write", execute: () => Effect.succeed("posted") })
const Wait = Tool.make("wait", { success: Schema.String, effects: "read", execute: () => Effect.never })

const Keyed = Tool.make("keyed", {
  success: Schema.String,
  effects: "write",
  idempotency: true,
  execute: () => Effect.succeed("sent")
})
const Put = Tool.make("put", { success: Schema.String, effects: "idempotent", execute: () => Effect.succeed("there") })
const Look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.succeed("seen") })
const Ask = Agent.fromFunction("clerk", (_: { readonly q: string }) => Effect.succeed("asked")).pipe(
  Agent.asTool("ask", {
    description: "Asks",
    parameters: Schema.Struct({ q: Schema.String }),
    success: Schema.String,
    effects: "write"
  })
)

const desk = Agent.make("desk", {
  tools: [Refund([]), Note([]), Mail, Read, Post, Wait, Keyed as never as typeof Put, Put, Look, Ask]
})

const paused = desk.start("go").pipe(
  Effect.provide(Layer.merge(key, ScriptedModel.layer([refund]))),
  Effect.map((outcome) => {
    assert.strictEqual(outcome._tag, "Paused")
    return outcome as Approval.Paused
  })
)

const storeOf = (
  fates: Array<string>,
  isTakenOver = false,
  end: (fate: string) => Effect.Effect<void> = () => Effect.void
) =>
  Layer.succeed(Approval.Resumptions, {
    claim: () =>
      Effect.succeed({
        isTakenOver,
        end: (fate: Approval.ResumptionFate) => Effect.andThen(Effect.sync(() => void fates.push(fate)), end(fate))
      })
  })

const resumed = (
  store: Layer.Layer<never>,
  { pending, snapshot }: Approval.Paused,
  turns: Parameters<typeof ScriptedModel.layer>[0],
  decide: (call: Approval.PendingCall) => Approval.Decision = (call) => Approval.approve(call)
) =>
  desk.resume(snapshot, pending.map(decide)).pipe(
    Effect.provide(
      Layer.mergeAll(key, store, Layer.fresh(IdempotencyLedger.layerMemory), ScriptedModel.layer(turns))
    )
  )

describe("a person's answer instead of a tool", () => {
  const cases: ReadonlyArray<readonly [success: Schema.Top, answer: Schema.Json, told: Schema.Json | "refused"]> = [
    [Schema.Void, null, null],
    [Schema.Undefined, null, null],
    [Schema.UndefinedOr(Schema.String), null, null],
    [Schema.NullOr(Schema.String), null, null],
    [Schema.String, "yes", "yes"],
    [Schema.String, null, "refused"],
    [Schema.Int, "yes", "refused"],
    [Schema.UndefinedOr(Schema.Int), "yes", "refused"],
    [Schema.Undefined, "yes", "refused"]
  ]
  it.effect("is decoded by its schema, and void is null", () =>
    Effect.forEach(cases, ([success, answer, told]) =>
      Effect.gen(function*() {
        let ran = 0
        const Sign = Tool.make("sign", {
          success,
          effects: "write",
          needsApproval: true,
          execute: () => Effect.sync(() => void ran++) as never
        } as never) as never as Tool.Any
        const agent = Agent.make("desk", { tools: [Sign] } as never) as never as typeof desk
        const results: Array<unknown> = []
        const model = ScriptedModel.layer((request, index) => {
          results.push(...lastResults(request.prompt).map(({ result }) => result))
          return ScriptedModel.steps([ScriptedModel.call("sign", {}), ScriptedModel.text("done")])(request, index)
        })
        const exit = yield* Effect.gen(function*() {
          const pause = yield* agent.start("go")
          if (pause._tag !== "Paused") return yield* Effect.die("no pause")
          return yield* Effect.exit(
            agent.resume(pause.snapshot, pause.pending.map((call) => Approval.respond(call, answer)))
          )
        }).pipe(Effect.provide(Layer.merge(key, model)))
        const about = `${success.ast._tag} ${JSON.stringify(answer)}`
        assert.strictEqual(ran, 0, about)
        if (told !== "refused") return assert.deepStrictEqual(results, [told], about)
        assert.deepInclude(Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined, {
          _tag: "DecisionRefused",
          reason: "invalid_result"
        }, about)
      }), { discard: true }))
})

/** Interrupts a resumption once the model has been asked for the last of its turns, which hangs. */
const cutOffAt = (fates: Array<string>, pause: Approval.Paused, turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.gen(function*() {
    const asked = yield* Deferred.make<void>()
    const fiber = yield* Effect.forkChild(resumed(storeOf(fates), pause, (_, index) => {
      if (index === turns.length - 1) Deferred.doneUnsafe(asked, Exit.void)
      return turns[index]!
    }))
    yield* Deferred.await(asked)
    yield* Fiber.interrupt(fiber)
  })

describe("a store receives the end of a snapshot", () => {
  it.effect("whose audit died before a tool ran: free", () =>
    Effect.gen(function*() {
      const fates: Array<string> = []
      const pause = yield* paused
      const audit = Layer.succeed(Audit.Audit, () => Effect.die("down"))
      const died = yield* Effect.exit(
        Effect.provide(resumed(storeOf(fates), pause, [ScriptedModel.text("done")]), audit)
      )
      assert.isTrue(Exit.hasDies(died))
      assert.deepStrictEqual(fates, ["free"])
      yield* resumed(storeOf(fates), pause, [ScriptedModel.text("done")])
      assert.deepStrictEqual(fates, ["free", "used"])
    }))

  it.effect("reports when another process's claim ends", () =>
    Effect.gen(function*() {
      const store = Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed({ freeAt: 60_000 }) })
      const refused = yield* Effect.flip(resumed(store, yield* paused, []))
      assert.deepInclude(refused, { reason: "claimed", freeAt: 60_000 })
      assert.include(String(refused), "1970-01-01T00:01:00.000Z")
    }))

  it.effect("whose run has answered: used", () =>
    Effect.gen(function*() {
      const fates: Array<string> = []
      yield* resumed(storeOf(fates), yield* paused, [ScriptedModel.text("done")])
      assert.deepStrictEqual(fates, ["used"])
    }))

  it.effect("whose run has failed with an error of a tool: used", () =>
    Effect.gen(function*() {
      const fates: Array<string> = []
      const exit = yield* Effect.exit(resumed(storeOf(fates), yield* paused, [ScriptedModel.call("mail", {})]))
      assert.strictEqual(exit._tag, "Failure")
      assert.deepStrictEqual(fates, ["used"])
    }))

  it.effect("whose run has failed behind a rejected call: used", () =>
    Effect.gen(function*() {
      const fates: Array<string> = []
      const exit = yield* Effect.exit(
        resumed(storeOf(fates), yield* paused, [ScriptedModel.call("read", {})], (call) => Approval.reject(call, "no"))
      )
      assert.strictEqual(exit._tag, "Failure")
      assert.deepStrictEqual(fates, ["used"])
    }))

  it.effect("whose run was cut off after the approved call: abandoned", () =>
    Effect.gen(function*() {
      const fates: Array<string> = []
      const pause = yield* paused
      yield* cutOffAt(fates, pause, [ScriptedModel.hang])
      assert.deepStrictEqual(fates, ["abandoned"])
    }))

  for (
    const [tool, what, fate] of [
      ["post", "a write that nobody approved, and no ledger knows", "used"],
      ["keyed", "a write that a ledger knows", "abandoned"],
      ["put", "what does nothing twice", "abandoned"],
      ["look", "a read", "abandoned"],
      ["ask", "an agent that has written nothing", "abandoned"]
    ] as const
  ) {
    it.effect(`whose run was interrupted after ${what}: ${fate}`, () =>
      Effect.gen(function*() {
        const fates: Array<string> = []
        const pause = yield* paused
        const turns = [ScriptedModel.call(tool, tool === "ask" ? { q: "?" } : {}), ScriptedModel.hang]
        yield* cutOffAt(fates, pause, turns)
        assert.deepStrictEqual(fates, [fate])
      }))
  }

  it.effect("that was taken over and is refused: abandoned, once more", () =>
    Effect.gen(function*() {
      const fates: Array<string> = []
      const error = yield* Effect.flip(resumed(storeOf(fates, true), yield* paused, []))
      assert.deepInclude(error, { _tag: "SnapshotRefused", reason: "abandoned" })
      assert.deepStrictEqual(fates, ["abandoned"])
    }))

  it.effect("with a failing record: a warning, and the run ends normally", () =>
    Effect.gen(function*() {
      const { layer, messages } = collectLogs()
      const outcome = yield* resumed(
        storeOf([], false, () => Effect.die("full")),
        yield* paused,
        [ScriptedModel.text("done")]
      ).pipe(Effect.provide(layer))
      assert.deepStrictEqual(outcome, new Approval.Completed({ output: "done" }))
      assert.strictEqual(messages.length, 1)
      assert.match(messages[0]!, /could not be recorded/)
    }))
})

describe("a store of resumptions", () => {
  const store = (claim: Effect.Effect<boolean>) => Layer.succeed(Approval.Resumptions, { claim: () => claim })

  it.effect("that does not answer ends the run before anything is done", () =>
    Effect.gen(function*() {
      const pause = yield* paused
      const exit = yield* Drive.drive(Effect.exit(resumed(store(Effect.never), pause, [])), { step: "10 seconds" })
      assert.match(String(exit), /did not answer within/)
    }))

  it.effect("that cannot release a snapshot does not prevent interruption", () =>
    Effect.gen(function*() {
      const pause = yield* paused
      const { layer, messages } = collectLogs()
      const asked = yield* Deferred.make<void>()
      const waits = () => (Deferred.doneUnsafe(asked, Exit.void), ScriptedModel.hang)
      const rejected = resumed(store(Effect.succeed(true)), pause, waits, (call) => Approval.reject(call, "no"))
      const fiber = yield* Effect.forkChild(Effect.provide(rejected, layer))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause), String(exit))
      assert.deepStrictEqual(messages, [])
    }))
})

describe("a person's texts about waiting and refused runs", () => {
  it.effect("how many calls wait, and which", () =>
    Effect.gen(function*() {
      const messages: Array<string> = []
      for (const ids of [["a"], ["a", "b"]]) {
        const calls = ScriptedModel.calls(
          ids.map((id) => ({ id, name: "refund", params: { order: id, amount: 500 } }))
        )
        const error = yield* Effect.flip(
          desk.run("go").pipe(Effect.provide(Layer.merge(key, ScriptedModel.layer([calls]))))
        )
        if (error._tag !== "ApprovalRequired") throw error
        assert.deepStrictEqual(error.pending.map(({ callId }) => callId), ids)
        messages.push(error.message)
      }
      assert.deepStrictEqual(messages, [
        "Agent \"desk\" waits for the approval of 1 call",
        "Agent \"desk\" waits for the approval of 2 calls"
      ])
      const { snapshot } = yield* paused
      const { round: _, ...interrupted } = snapshot
      assert.deepStrictEqual(new Approval.ApprovalRequired({ agent: "desk", snapshot: interrupted }).pending, [])
    }))

  it("give the reason of a refused snapshot, and advice", () => {
    for (const reason of ["tampered", "version", "agent", "tools_changed", "used", "abandoned"] as const) {
      const { message } = new Approval.SnapshotRefused({ agent: "desk", reason })
      assert.match(
        message,
        /^The snapshot cannot be resumed by agent "desk": it|^The snapshot .*: (?:another|the agent's)/
      )
    }
  })

  it("name a refused decision's reason, call and up to three paths", () => {
    const issues = [1, 2, 3, 4].map((n) => ({ path: [0, `p${n}`], expected: "text", problem: "invalid" as const }))
    assert.deepStrictEqual(
      [
        new Approval.DecisionRefused({ reason: "twice", callId: "call_1" }).message,
        new Approval.DecisionRefused({ reason: "twice" }).message,
        new Approval.DecisionRefused({ reason: "twice", issues }).message
      ],
      [
        "The decision about call call_1 cannot be used: there are two decisions about the call. Give one",
        "The decision cannot be used: there are two decisions about the call. Give one",
        "The decision cannot be used: there are two decisions about the call. Give one; 0.p1.text; 0.p2.text; 0.p3.text"
      ]
    )
  })

  it("name the expectation instead of a non-list", () => {
    const refused = Approval.decodeDecisions("yes")
    assert.deepStrictEqual(refused._tag === "Failure" ? refused.failure.issues?.map(({ expected }) => expected) : [], [
      "expected a list of decisions"
    ])
  })

  it("how long a key must be", () => {
    assert.throws(
      () => Approval.layerKey(Redacted.make("short")),
      "Approval.layerKey: a key must have at least 32 bytes"
    )
  })
})
