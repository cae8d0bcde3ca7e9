import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer } from "effect"
import {
  Agent,
  Audit,
  ConfigurationError,
  IdempotencyLedger,
  Journal,
  Reconciliation,
  Recovery,
  RunRecord,
  Tool,
  ToolCall,
  type ToolError
} from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { collect, Down } from "../support/kit.ts"
import type { Booking, Params } from "../support/compensatedBookings.ts"
import { book, Desk, Fail, failing, journalOf, Refused, told } from "../support/compensatedBookings.ts"

describe("a run that fails", () => {
  it.effect("compensates in reverse order under own keys, recorded and audited", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const audit: Array<Audit.AuditRecord> = []
      const { events, layer: heard } = collect()
      const left: Array<ToolError.NotCompensated> = []
      const agent = Agent.make("clerk", {
        tools: [desk.tool("flight"), desk.tool("hotel"), Fail],
        compensation: { report: (all) => Effect.sync(() => left.push(...all)) }
      })
      const exit = yield* Effect.exit(agent.run("Book")).pipe(
        Effect.provide(Layer.mergeAll(
          ScriptedModel.layer(failing(book("flight", 1), book("hotel", 2), book("flight", 3))),
          heard,
          Audit.layer((record) => Effect.sync(() => audit.push(record)))
        ))
      )
      assert.deepStrictEqual(desk.log, [
        "flight 1",
        "hotel 2",
        "flight 3",
        "undo flight 3 103 3",
        "undo hotel 2 102 2",
        "undo flight 1 101 1"
      ])
      assert.strictEqual(new Set(desk.keys).size, 3)
      assert.match(desk.keys[0]!, /^[0-9a-f]{64}$/)
      assert.deepStrictEqual(told(events), ["flight_3 undone", "hotel_2 undone", "flight_1 undone"])
      assert.strictEqual(events.at(-1)?._tag, "RunFinished")
      assert.deepStrictEqual(
        audit.filter(({ decision }) => decision === "compensated").map(({ callId, tool }) => `${tool} ${callId}`),
        ["flight flight_3", "hotel hotel_2", "flight flight_1"]
      )
      assert.deepStrictEqual(left, [])
      const record = Exit.isFailure(exit) ? RunRecord.fromCause(exit.cause) : undefined
      const { compensations, resumable, transcript } = (record as { readonly value: RunRecord.RunRecord }).value
      assert.deepStrictEqual(compensations?.map(({ callId, outcome }) => [callId, outcome]), [
        ["flight_3", "undone"],
        ["hotel_2", "undone"],
        ["flight_1", "undone"]
      ])
      // It cannot be resumed, and readers of the conversation see the compensation.
      assert.isUndefined(resumable)
      const results = transcript.content.flatMap((message) => message.role === "tool" ? message.content : [])
      assert.deepStrictEqual(
        results.slice(0, 3).map((part) => part.type === "tool-result" && (part.result as { undone: unknown }).undone),
        [["flight"], ["hotel"], ["flight"]]
      )
    }))

  it.effect("compensates nothing without the option, nor after a success", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const tools = [desk.tool("flight"), Fail] as const
      yield* Effect.exit(Agent.make("clerk", { tools }).run("Book")).pipe(
        Effect.provide(ScriptedModel.layer(failing(book("flight", 1))))
      )
      const { events, layer } = collect()
      yield* Agent.make("clerk", { tools, compensation: {} }).run("Book").pipe(
        Effect.provide(
          Layer.merge(
            layer,
            ScriptedModel.layer([ScriptedModel.calls([book("flight", 2)]), ScriptedModel.text("Done")])
          )
        )
      )
      yield* Effect.exit(Agent.make("clerk", { tools, compensation: { after: ["interruption"] } }).run("Book")).pipe(
        Effect.provide(ScriptedModel.layer(failing(book("flight", 3))))
      )
      assert.deepStrictEqual(desk.log, ["flight 1", "flight 2", "flight 3"])
      assert.deepStrictEqual(told(events), [])
    }))

  it.effect("reports uncompensated writes to a person, and compensates the others", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const audit: Array<string> = []
      const { events, layer: heard } = collect()
      const reports: Array<ReadonlyArray<string>> = []
      const agent = Agent.make("clerk", {
        tools: [
          desk.tool("flight"),
          desk.tool("lost", { execute: () => Effect.fail(new Down()) }),
          desk.tool("half", { execute: () => ToolCall.partial({ succeeded: [1], failed: [] }) }),
          desk.tool("task", { execute: () => ToolCall.pending("t") }),
          desk.tool("stuck", { compensate: () => Effect.fail(new Refused({ id: 1 })) }),
          desk.tool("dead", { compensate: () => Effect.die(new Error("no")) }),
          desk.tool("rude", {
            compensate: () => {
              throw new Error("no")
            }
          }),
          Fail
        ],
        onToolError: {
          lost: Recovery.escalate("OutcomeUnknown"),
          half: Recovery.escalate("PartialSuccess" as never)
        } as never,
        compensation: {
          report: (all) => Effect.sync(() => reports.push(all.map(({ because, callId }) => `${callId} ${because}`)))
        }
      })
      const turns = failing(
        ...["flight", "lost", "half", "task", "stuck", "dead", "rude"].map((name, index) => book(name, index + 1))
      )
      yield* Effect.exit(agent.run("Book") as Effect.Effect<string, unknown, never>).pipe(
        Effect.provide(Layer.mergeAll(
          ScriptedModel.layer(turns),
          heard,
          Audit.layer(({ callId, decision, reason }) =>
            Effect.sync(() => decision === "not_compensated" && audit.push(`${callId} ${reason}`))
          )
        ))
      )
      const expected = [
        "rude_7 failed: Defect",
        "dead_6 failed: Defect",
        "stuck_5 failed: Refused",
        "task_4 pending",
        "half_3 partial",
        "lost_2 unknown"
      ]
      const plain = expected.map((one) => one.split(":")[0]!)
      assert.deepStrictEqual(reports, [plain])
      assert.deepStrictEqual(audit, expected)
      assert.deepStrictEqual(told(events), [
        ...plain.map((one) => one.replace(" ", " not_undone ")),
        "flight_1 undone"
      ])
      const stuck = events.find((event) => event._tag === "ToolCompensated" && event.callId === "stuck_5")
      assert.propertyVal(stuck, "error", "Refused")
      assert.strictEqual(desk.log.at(-1), "undo flight 1 101 1")
    }))

  it.live("a compensation that hangs has its time, and the next one comes", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const { events, layer: heard } = collect()
      yield* Effect.exit(
        Agent.make("clerk", {
          tools: [desk.tool("flight"), desk.tool("stuck", { compensate: () => Effect.never }), Fail],
          compensation: { timeout: "20 millis", report: () => Effect.never }
        }).run("Book")
      ).pipe(
        Effect.provide(Layer.merge(ScriptedModel.layer(failing(book("flight", 1), book("stuck", 2))), heard))
      )
      assert.deepStrictEqual(told(events), ["stuck_2 not_undone timeout", "flight_1 undone"])
    }))

  it.effect("an audit that cannot be written hides no compensation", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      yield* Effect.exit(
        Agent.make("clerk", { tools: [desk.tool("flight"), desk.tool("hotel"), Fail], compensation: {} }).run("Book")
      ).pipe(Effect.provide(Layer.merge(
        ScriptedModel.layer(failing(book("flight", 1), book("hotel", 2))),
        Audit.layer(({ decision }) => decision === "compensated" ? Effect.die("full") : Effect.void)
      )))
      assert.strictEqual(desk.log.length, 4)
    }))

  it.effect("reads need no compensation", () =>
    Effect.sync(() => {
      assert.throws(
        () =>
          Tool.make("t", {
            effects: "read",
            // @ts-expect-error the types refuse it as well
            compensate: () => Effect.void,
            execute: () => Effect.void
          }),
        ConfigurationError.ConfigurationError
      )
    }))
})

describe("writes that may have happened", () => {
  const cases: Readonly<
    Record<string, readonly [Reconciliation.Reconciliation<typeof Booking.Type>, ReadonlyArray<string>]>
  > = {
    "is undone where reconcile finds that it did": [
      Reconciliation.completed({ id: 7, at: new Date(7) }),
      ["lost_1 undone"]
    ],
    "is left where reconcile finds that it did not": [Reconciliation.notStarted, ["lost_1 not_happened"]],
    "is for a person where reconcile does not find out": [
      Reconciliation.unknown,
      ["lost_1 not_undone unknown"]
    ]
  }
  for (const [name, [found, expected]] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const desk = new Desk()
        const { events, layer: heard } = collect()
        let asked = 0
        let runs = 0
        const lost = desk.tool("lost", {
          execute: () => Effect.andThen(Effect.sync(() => void runs++), Effect.fail(new Down())),
          needsApproval: false,
          idempotency: { reconcile: () => Effect.sync(() => (asked++, found)) }
        })
        yield* Effect.exit(
          Agent.make("clerk", {
            tools: [lost, Fail],
            onToolError: { lost: Recovery.escalate("OutcomeUnknown") as never },
            compensation: {}
          }).run("Book") as Effect.Effect<string, unknown, never>
        ).pipe(
          Effect.provide(Layer.mergeAll(
            ScriptedModel.layer(failing(book("lost", 1))),
            heard,
            IdempotencyLedger.layerMemory
          ))
        )
        assert.deepStrictEqual(told(events), expected)
        assert.deepStrictEqual([asked, runs], [1, 1])
        assert.deepStrictEqual(desk.log, found._tag === "Completed" ? ["undo lost 1 7 7"] : [])
      }))
  }

  it.effect("a key used by another run is not compensated by this one", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const flight = desk.tool("flight", { idempotency: { key: ({ n }: typeof Params.Type) => `order ${n}` } })
      const agent = Agent.make("clerk", { tools: [flight, Fail], compensation: {} })
      const layer = IdempotencyLedger.layerMemory
      yield* Effect.gen(function*() {
        yield* (agent.run("Book") as Effect.Effect<string, unknown, never>).pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.calls([book("flight", 1)]), ScriptedModel.text("Done")]))
        )
        yield* Effect.exit(agent.run("Book") as Effect.Effect<string, unknown, never>).pipe(
          Effect.provide(ScriptedModel.layer(failing(book("flight", 1))))
        )
      }).pipe(Effect.provide(layer))
      assert.deepStrictEqual(desk.log, ["flight 1"])
    }))
})

describe("a run that is interrupted", () => {
  it.effect("compensates its writes uninterrupted", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const begun = yield* Deferred.make<void>()
      const Wait = Tool.make("fail", {
        effects: "read",
        execute: () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
      })
      const slow = desk.tool("hotel", {
        compensate: () => Effect.andThen(Effect.yieldNow, Effect.sync(() => desk.log.push("undo hotel")))
      })
      const fiber = yield* Agent.make("clerk", { tools: [desk.tool("flight"), slow, Wait], compensation: {} }).run(
        "Book"
      )
        .pipe(Effect.provide(ScriptedModel.layer(failing(book("flight", 1), book("hotel", 2)))), Effect.forkChild)
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(desk.log, ["flight 1", "hotel 2", "undo hotel", "undo flight 1 101 1"])
    }))

  it.effect("with a journal: compensates only if the interruption cancels it", () =>
    Effect.gen(function*() {
      for (const isCancelled of [false, true]) {
        const desk = new Desk()
        const begun = yield* Deferred.make<void>()
        const Wait = Tool.make("fail", {
          effects: "read",
          execute: () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
        })
        const fiber = yield* Agent.make("clerk", { tools: [desk.tool("flight"), Wait], compensation: {} })
          .run("Book", { runId: "r" }).pipe(
            Effect.provide(ScriptedModel.layer(failing(book("flight", 1)))),
            Effect.provideService(Journal.CurrentJournal, journalOf(new Map(), new Map(), () => isCancelled)),
            Effect.forkChild
          )
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(desk.log.length, isCancelled ? 2 : 1)
      }
    }))
})
