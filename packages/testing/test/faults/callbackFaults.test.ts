/** Callbacks that fail, die, hang and are interrupted: the laws hold, and each fault is met. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Audit, Recovery, Tool } from "@recourse/core"
import { FaultPlan, Faults, FaultSuite, Laws, ScriptedModel, Simulation, Subject } from "@recourse/testing"
import { Effect, Exit, Layer } from "effect"
import { asking, nested, subject } from "../support/travel.ts"

const seed = Number(process.env["RECOURSE_SEED"] ?? 1)

Laws.test({ it }, subject, { runs: Number(process.env["RECOURSE_PLANS"] ?? 25), seed, interruptions: 25 })

it.effect("injects each fault of each callback", () =>
  Effect.gen(function*() {
    const { met, missed } = yield* Laws.check(subject, { laws: [], interruptions: 0 })
    for (const callback of ["book.compensate", "book.reconcile", "charge.compensate"]) {
      assert.deepStrictEqual(Object.keys(met[callback] ?? {}).toSorted(), FaultPlan.callbackFaults.toSorted(), callback)
    }
    assert.deepStrictEqual(
      Object.keys(met["audit"] ?? {}).toSorted(),
      FaultPlan.callbackFaults.filter((type) => type !== "callback_fails").toSorted()
    )
    assert.deepStrictEqual(missed.filter(({ fault }) => fault.startsWith("callback_")), [])
  }))

const faults = FaultPlan.CallbackFault.members.map(({ fields }) => ({ type: fields.type.literal }))

/** Plans in which each callback has each fault: runs that fail behind their writes, and a write without an answer. */
const plans: ReadonlyArray<FaultPlan.FaultPlan> = faults.flatMap((fault) => [
  ...["book", "charge"].map((tool) =>
    FaultPlan.make([
      FaultPlan.onTool("charge", { type: "invalid_result" }, { from: 2 }),
      FaultPlan.onModel({ type: "model_error", reason: "AuthenticationError" }, { from: 3, times: 9 }),
      FaultPlan.onCompensate(tool, fault)
    ])
  ),
  FaultPlan.make([FaultPlan.onTool("book", { type: "defect" }), FaultPlan.onReconcile("book", fault)]),
  ...[1, 2, 3].map((from) => FaultPlan.make([FaultPlan.onAudit(fault, { from })]))
])

for (
  const [name, one] of Object.entries({ "over pauses for a person": asking, "of an agent that is a tool": nested })
) {
  it.effect(`keeps the laws under faults of callbacks ${name}`, () =>
    Effect.gen(function*() {
      const scenario = one.scenarios["default"]!
      const faultless: Simulation.Observation = yield* Simulation.run(one as typeof asking, scenario)
      const injected = new Set<string>()
      for (const plan of plans) {
        const plain = yield* Simulation.run(one as typeof asking, scenario, { plan, secret: "planted" })
        const streamed = yield* Simulation.run(one as typeof asking, scenario, {
          plan,
          secret: "planted",
          streaming: true
        })
        for (const fault of plain.injected) injected.add(`${fault.tool} ${fault.callback} ${fault.type}`)
        const trial = { subject: one, secret: "planted", faultless, plain, again: plain, streamed }
        const broken = Object.values(Laws.all).flatMap((law) =>
          law({ ...trial, interrupted: plain, reordered: plain } as unknown as Laws.Trial)
        )
        assert.deepStrictEqual(broken, [], FaultPlan.print(plan))
      }
      assert.isAtLeast([...injected].filter((one) => one.includes("callback_")).length, 3 * faults.length)
    }))
}

it.effect("takes a compensation behind a pause for no repetition", () =>
  Effect.gen(function*() {
    const { interrupted } = yield* Laws.check(asking, { runs: 1, interruptions: 60 })
    assert.isAbove(interrupted, 40)
  }))

it.effect("reports a callback that no run calls as missed", () =>
  Effect.gen(function*() {
    const Book = Tool.make("book", { effects: "write", execute: () => Effect.void, compensate: () => Effect.void })
    const without = Subject.make({
      agent: Agent.make("travel", {
        tools: [Book],
        defaults: { onError: Recovery.standard },
        budget: { turns: 3, duration: "60 seconds" }
      }),
      scenarios: { default: { input: "x", model: [ScriptedModel.call("book", {}), ScriptedModel.text("ok")] } }
    })
    const { missed } = yield* Laws.check(without, { runs: 1, laws: [], interruptions: 0 })
    const ofCallbacks = missed.filter(({ fault }) => fault.startsWith("callback_"))
    assert.deepStrictEqual(
      ofCallbacks.map(({ because, tool }) => [tool, because]),
      FaultPlan.callbackFaults.map(() => ["book.compensate", "not_called"])
    )
  }))

describe("a plan", () => {
  const plan = FaultPlan.make([
    FaultPlan.onCompensate("book", { type: "callback_hangs" }, { times: 2 }),
    FaultPlan.onReconcile("book", { type: "callback_dies" }, { from: 3 }),
    FaultPlan.onAudit({ type: "callback_answer_lost" }, { probability: 0.5 })
  ])

  it.effect("with faults of callbacks is printed, stored and read", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(FaultPlan.print(plan).split("\n").slice(1), [
        "book.compensate: callback_hangs at calls 1 to 2",
        "book.reconcile: callback_dies at call 3",
        "audit: callback_answer_lost at call 1 with probability 0.5"
      ])
      assert.deepStrictEqual(yield* FaultPlan.parse(FaultPlan.stringify(plan)), plan)
    }))

  it.effect("reaches an audit of the program, and has no effect without one", () =>
    Effect.gen(function*() {
      const records: Array<Audit.AuditRecord> = []
      const audit = Audit.layer((record) => Effect.sync(() => records.push(record)))
      const run = (around: Layer.Layer<never>) =>
        Effect.exit(Effect.provide(
          subject.agent.run("Book seat 7") as Effect.Effect<string>,
          Faults.layer(FaultPlan.make([FaultPlan.onAudit({ type: "callback_dies" })])).pipe(
            Layer.provide(Layer.mergeAll(
              around,
              ScriptedModel.layer([
                ScriptedModel.call("charge", { euros: 200 }),
                ScriptedModel.text("No.")
              ])
            ))
          )
        ))
      assert.isTrue(Exit.isFailure(yield* run(audit)))
      assert.deepStrictEqual(records, [])
      assert.deepStrictEqual(yield* run(Layer.empty), Exit.succeed("No."))
    }))

  it.effect("leaves a look-up without an answer no claim of the key", () =>
    Effect.gen(function*() {
      const run = yield* Simulation.run(subject, subject.scenarios["default"]!, {
        plan: FaultPlan.make([
          FaultPlan.onTool("book", { type: "defect" }),
          FaultPlan.onReconcile("book", { type: "callback_fails" })
        ])
      })
      assert.strictEqual(run.fibers, 0)
      assert.isAbove(run.callbacksOf["book.reconcile"] ?? 0, 0)
    }))

  it.effect("has each result announced behind an audit that fails", () =>
    Effect.gen(function*() {
      for (const { type } of faults) {
        const run = yield* Simulation.run(subject, subject.scenarios["default"]!, {
          plan: FaultPlan.make([FaultPlan.onAudit({ type })])
        })
        const results = run.events.flatMap((event) => event._tag === "ToolResult" ? [[event.callId, event.code]] : [])
        assert.deepStrictEqual(results, [["call_1", undefined], ["call_2", undefined], ["call_3", "permission_denied"]])
        assert.strictEqual(Simulation.outcome(run), "defect", type)
      }
    }))
})

describe("a suite", () => {
  const suite = (one: object) =>
    FaultSuite.run(subject, { suite: "callbacks", cases: [{ id: "one", expected: "escalated", ...one } as never] })

  it.effect("has cases with faults of callbacks", () =>
    Effect.gen(function*() {
      const { cases: [one] } = yield* suite({ callback: "audit", fault: { type: "dies" } })
      assert.deepStrictEqual([one?.fault, one?.callback, one?.attempts, one?.outcome], [
        "callback_dies",
        "audit",
        3,
        "defect"
      ])
    }))

  const wrong: Readonly<Record<string, readonly [one: object, problem: FaultSuite.SuiteError["problem"]]>> = {
    "a callback that is not known": [
      { tool: "book", callback: "undo", fault: { type: "dies" } },
      "unknown callback"
    ],
    "a callback of no tool": [{ callback: "compensate", fault: { type: "dies" } }, "callback of no tool"],
    "an audit of a tool": [{ tool: "book", callback: "audit", fault: { type: "dies" } }, "callback of no tool"],
    "a fault of a tool": [{ callback: "audit", fault: { type: "timeout" } }, "unknown fault"]
  }
  for (const [name, [one, problem]] of Object.entries(wrong)) {
    it.effect(`is refused with ${name}`, () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* Effect.flip(suite(one))).problem, problem)
      }))
  }
})
