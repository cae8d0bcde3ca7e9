/** Defects with failures: exits of several parallel agents, if one of them dies, or its store refuses or fails. */
import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Effect, Exit, Layer, Predicate, Redacted, Schema } from "effect"
import { Agent, Approval, Recovery, Tool, ToolError } from "@recourse/core"

const { call, calls, text } = ScriptedModel

class Boom extends Data.TaggedError("Boom") {}

const key = Effect.provideService(Approval.SnapshotKey, Redacted.make("a key of 32 bytes for signing ok!"))

/** A clerk that pays approved calls; every resumption calls the same model. */
const clerk = (name = "clerk", execute: Effect.Effect<string> = Effect.succeed("paid")) => {
  const Refund = Tool.make("refund", {
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: () => execute
  })
  const script = [call("refund", {}), text(`${name} has paid`)]
  const model = Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(ScriptedModel.layer(script)))))
  return Agent.make(name, { tools: [Refund], defaults: { onError: Recovery.standard } }).pipe(Agent.provide(model))
}

/** A person's approval, `ms` later. */
const approve = (ms: number) => (pending: Approval.PendingCall) =>
  Effect.delay(Effect.succeed(Approval.approve(pending)), ms)

const asks = (ms = 0) => clerk().pipe(Approval.interactive(approve(ms)))

const fails = (ms: number, name = "fails") =>
  Agent.fromFunction(name, (_: string) => Effect.delay(Effect.fail(new Boom()), ms))

/** Exit of a run: each reason by its kind and name. */
const reasonsOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<string> =>
  Exit.isSuccess(exit) ? [`answers ${JSON.stringify(exit.value)}`] : exit.cause.reasons.map((reason) => {
    const held = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined
    const raised = held instanceof ToolError.ExecutorDefect ? held.reason : held
    const name = Predicate.hasProperty(raised, "_tag") ? raised._tag : raised
    return `${reason._tag} ${String(name)}`
  }).sort()

const ending = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(Drive.drive(effect, { step: "1 milli" })), reasonsOf)

/** A store of resumptions that answers the claims of a run one after the other, each after 20 ms. */
const store = (...answers: ReadonlyArray<boolean | "down">) => {
  let claims = 0
  return Layer.succeed(Approval.Resumptions, {
    claim: () => {
      const answer = answers[claims++] ?? true
      return Effect.delay(answer === "down" ? Effect.die("the store is down") : Effect.succeed(answer), 20)
    }
  })
}

describe("the first of several agents that answers", () => {
  for (const order of ["first", "last"] as const) {
    it.effect(`waits if one waits and the ${order} one dies, which does not rerun`, () =>
      Effect.gen(function*() {
        let runs = 0
        const dies = Agent.fromFunction("dies", (_: string) => Effect.suspend(() => (runs++, Effect.die("a bug"))))
        const agent = Agent.firstOf("any", order === "first" ? [dies, clerk()] : [clerk(), dies])
        const waits = yield* agent.start("x")
        if (waits._tag !== "Paused") return assert.fail(waits._tag)
        const ended = yield* agent.resume(waits.snapshot, waits.pending.map((pending) => Approval.approve(pending)))
        assert.deepInclude(ended, { _tag: "Completed", output: "clerk has paid" })
        assert.strictEqual(runs, 1)
      }).pipe(key))
  }

  it.effect("has no reasons from before the pause if the last one dies", () =>
    Effect.gen(function*() {
      const dies = clerk("clerk", Effect.die("a bug"))
      const agent = Agent.firstOf("any", [fails(0), dies]).pipe(Approval.interactive(approve(0)))
      assert.deepStrictEqual(yield* ending(agent.run("x")), ["Die a bug"])
    }))

  it.effect("has all defects if all fail and one dies, like Effect.raceAll", () =>
    Effect.gen(function*() {
      const agent = Agent.firstOf("any", [asks(), fails(30)])
      const ended = yield* ending(agent.run("x")).pipe(Effect.provide(store(false)))
      assert.deepStrictEqual(ended, ["Die Boom", "Die SnapshotRefused"])
    }))
})

describe("the best of several runs", () => {
  it.effect("has all defects of the best if all fail and one dies", () =>
    Effect.gen(function*() {
      let runs = 0
      const writer = Agent.fromFunction("writer", (_: string): Effect.Effect<string, Boom> =>
        Effect.suspend(() =>
          runs++ === 0 ? Effect.fail(new Boom()) : Effect.die("a bug")
        ))
      const judge = Agent.fromFunction("judge", (_: Agent.Candidates<string, string>) => Effect.succeed(0))
      const best = Agent.bestOf(writer, { n: 2, judge })
      assert.deepStrictEqual(yield* ending(best.run("x")), ["Die Boom", "Die a bug"])
    }))
})

describe("an agent that asks while it runs", () => {
  const other = new Approval.SnapshotRefused({ agent: "other", reason: "used" })

  it.effect("fails with an inner agent's refusal of another snapshot", () =>
    Effect.gen(function*() {
      const takesOver = Agent.fromFunction("takes over", (_: string) => Effect.fail(other))
      const agent = clerk().pipe(Agent.andThen(takesOver), Approval.interactive(approve(0)))
      assert.strictEqual(yield* Effect.flip(agent.run("x")), other)
    }))

  it.effect("fails so if its store has refused that", () =>
    Effect.gen(function*() {
      const inner = clerk("inner")
      const takesOver = Agent.fromFunction("takes over", (_: string) =>
        Effect.flatMap(inner.start("x"), (waits) =>
          waits._tag === "Paused"
            ? inner.resume(
              waits.snapshot,
              waits.pending.map((pending) =>
                Approval.approve(pending)
              )
            )
            : Effect.die("it does not wait")))
      const agent = clerk().pipe(Agent.andThen(takesOver), Approval.interactive(approve(0)))
      const ended = yield* ending(agent.run("x")).pipe(Effect.provide(store(true, true, false)), key)
      assert.deepStrictEqual(ended, ["Fail SnapshotRefused"])
    }))

  for (const claim of [1, 2]) {
    it.effect(`dies of a refusal of its own or an inner snapshot: claim ${claim}`, () =>
      Effect.gen(function*() {
        const agent = Agent.all("all", [clerk("one")]).pipe(Approval.interactive(approve(0)))
        const ended = yield* ending(agent.run("x")).pipe(Effect.provide(store(claim !== 1, claim !== 2)))
        assert.deepStrictEqual(ended, ["Die SnapshotRefused"])
      }))
  }

  for (const order of ["first", "last"] as const) {
    it.effect(`has the others' failures, if those end it and were refused ${order}`, () =>
      Effect.gen(function*() {
        const failing = (name: string) =>
          clerk(name).pipe(Agent.andThen(fails(order === "first" ? 30 : 0, `behind ${name}`)))
        const agent = Agent.firstOf("any", [failing("one"), failing("two")]).pipe(Approval.interactive(approve(0)))
        const ended = yield* ending(agent.run("x")).pipe(Effect.provide(store(true, true, false)))
        assert.deepStrictEqual(ended, ["Die Boom", "Die SnapshotRefused"])
      }))
  }
})

describe("a failure that ends a run stays one", () => {
  const faults = { refuses: false, fails: "down" } as const
  for (const [what, answer] of Object.entries(faults)) {
    it.effect(`if the store of an agent stopped by it ${what} afterwards`, () =>
      Effect.gen(function*() {
        const all = Agent.all("all", [asks(), fails(10)])
        assert.deepStrictEqual(yield* ending(all.run("x")).pipe(Effect.provide(store(answer))), ["Fail Boom"])
      }))

    it.effect(`a failure within one answer's calls stays one: the store ${what}`, () =>
      Effect.gen(function*() {
        const Fails = Tool.make("fails", {
          success: Schema.String,
          execute: () => Effect.delay(Effect.fail(new Boom()), 10)
        })
        const Ask = Tool.make("ask", { success: Schema.String, execute: () => Effect.orDie(asks().run("x")) })
        const boss = Agent.make("boss", { tools: [Fails, Ask] })
        const ended = yield* ending(boss.run("x")).pipe(
          Effect.provide(store(answer)),
          Effect.provide(ScriptedModel.layer([calls([{ id: "a", name: "ask", params: {} }, {
            id: "b",
            name: "fails",
            params: {}
          }])]))
        )
        assert.deepStrictEqual(ended, ["Fail ExecutionError"])
      }))
  }
})
