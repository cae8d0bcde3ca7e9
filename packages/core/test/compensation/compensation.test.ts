import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Data, Deferred, Effect, Exit, Fiber, Layer, Option, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import {
  Agent,
  type AgentEvent,
  Approval,
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
import { collect, Down, lastResults } from "../support/kit.ts"
import { entriesIn } from "../support/interruptedRuns.ts"

class Refused extends Data.TaggedError("Refused")<{ readonly id: number }> {}

const Params = Schema.Struct({ n: Schema.Int })
const Booking = Schema.Struct({ id: Schema.Int, at: Schema.Date })

/** Completed and compensated calls, with their keys. */
class Desk {
  readonly log: Array<string> = []
  readonly keys: Array<string | undefined> = []

  /** A tool that books, and cancels its bookings. */
  tool<const Name extends string>(name: Name, more: Record<string, unknown> = {}) {
    return Tool.make(name, {
      parameters: Params,
      success: Booking,
      effects: "write",
      execute: ({ n }): Effect.Effect<typeof Booking.Type, Down> =>
        Effect.sync(() => {
          this.log.push(`${name} ${n}`)
          return { id: 100 + n, at: new Date(n) }
        }),
      compensate: ({ n }, { at, id }) =>
        Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) =>
          Effect.sync(() => {
            this.keys.push(idempotencyKey)
            this.log.push(`undo ${name} ${n} ${id} ${at.getTime()}`)
          })),
      ...more
    })
  }
}

const Fail = Tool.make("fail", { effects: "read", execute: () => Effect.fail(new Down()) })

const book = (name: string, n: number) => ({ name, params: { n }, id: `${name}_${n}` })

const failing = (...calls: ReadonlyArray<ReturnType<typeof book>>) => [
  ...calls.map((call) => ScriptedModel.calls([call])),
  ScriptedModel.calls([{ name: "fail", params: {}, id: "f" }])
]

/** A model with its recorded requests. */
const recorded = (turns: ReadonlyArray<ScriptedModel.Turn>) => {
  const requests: Array<ScriptedModel.Request> = []
  const layer = ScriptedModel.layer((request) => {
    requests.push(request)
    return turns[requests.length - 1]!
  })
  return { layer, requests }
}

const told = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) =>
    event._tag === "ToolCompensated"
      ? [[event.callId, event.outcome, event.because].filter((s) => s !== undefined).join(" ")]
      : []
  )

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

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

/** A journal in memory: `earlier` has the entries of other executions, `now` those of this one. */
const journalOf = (
  earlier: ReadonlyMap<string, Schema.Json>,
  now: Map<string, Schema.Json>,
  isCancelled: () => boolean = () => false,
  lostAt?: string
): Journal.Journal => ({
  runId: "r",
  isResumed: earlier.size > 0,
  isCancelled,
  elapsedBefore: 0,
  find: (kind, key) => earlier.get(`${kind} ${key}`),
  entries: entriesIn(earlier),
  record: (kind, key, value) =>
    Effect.suspend(() => {
      if (lostAt !== undefined && `${kind} ${key}`.startsWith(lostAt)) return Effect.interrupt
      now.set(`${kind} ${key}`, JSON.parse(JSON.stringify(value)))
      return Effect.void
    }),
  claim: (entry) => `r${entry}`
})

describe("a run with a journal", () => {
  const agentOf = (desk: Desk, more: Record<string, unknown> = {}) =>
    Agent.make("clerk", { tools: [desk.tool("flight", more), desk.tool("hotel", more), Fail], compensation: {} })

  const live = (
    agent: { readonly run: (input: string, options: { runId: string }) => Effect.Effect<unknown, unknown, any> },
    journal: Journal.Journal
  ) =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const turns = failing(book("flight", 1), book("hotel", 2))
      const exit = yield* Effect.exit(agent.run("Book", { runId: "r" })).pipe(
        Effect.provide(Layer.merge(
          ScriptedModel.layer(({ prompt }) => turns[prompt.content.filter(({ role }) => role === "assistant").length]!),
          layer
        )),
        Effect.provideService(Journal.CurrentJournal, journal)
      )
      return { events, exit: exit as Exit.Exit<unknown, unknown> }
    })

  it.effect("an execution that recovers compensates earlier writes once", () =>
    Effect.gen(function*() {
      const first = new Desk()
      const steps = new Map<string, Schema.Json>()
      const { exit } = yield* live(
        agentOf(first),
        journalOf(new Map(), steps, () => false, "compensation begun r/6:flight")
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(first.log, ["flight 1", "hotel 2", "undo hotel 2 102 2"])
      const second = new Desk()
      const { events } = yield* live(agentOf(second), journalOf(steps, new Map()))
      assert.deepStrictEqual(second.log, ["undo flight 1 101 1"])
      assert.deepStrictEqual(told(events), ["flight_1 undone"])
    }))

  it.effect("an interrupted compensation needs a person, unless it is repeatable", () =>
    Effect.gen(function*() {
      for (const [effects, undone] of [["write", false], ["idempotent", true]] as const) {
        const steps = new Map<string, Schema.Json>()
        yield* live(
          agentOf(new Desk(), { effects }),
          journalOf(new Map(), steps, () => false, "compensation r/5:hotel")
        )
        const second = new Desk()
        const { events } = yield* live(agentOf(second, { effects }), journalOf(steps, new Map()))
        assert.deepStrictEqual(told(events), [
          undone ? "hotel_2 undone" : "hotel_2 not_undone timeout",
          "flight_1 undone"
        ])
        assert.strictEqual(second.log.length, undone ? 2 : 1)
      }
    }))
})

describe("the result of a compensated call", () => {
  it.effect("is marked next to its content, with no other change", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const seat = Schema.String
      const plain = (name: string, more: Record<string, unknown> = {}) =>
        desk.tool(name, {
          success: seat,
          execute: ({ n }: { readonly n: number }) => Effect.succeed(`seat ${n}`),
          compensate: () => Effect.void,
          ...more
        })
      const [flight, hotel] = [plain("flight"), plain("hotel")]
      const made = (tool: typeof flight, id: string) =>
        Effect.provideService(tool.call, ToolCall.ToolCall, ToolCall.make({ id, arguments: { n: 1 } }))
      const Trip = Tool.make("trip", {
        parameters: Params,
        success: Schema.String,
        effects: "read",
        execute: () => Effect.as(Effect.all([made(flight, "x"), made(hotel, "y")]), "both")
      })
      const Odd = Tool.make("odd", {
        parameters: Params,
        success: Schema.String,
        effects: "read",
        execute: () => Effect.andThen(made(flight, "x"), Effect.fail(new Down()))
      }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
      const Look = Tool.make("look", {
        parameters: Params,
        effects: "read",
        success: seat,
        execute: () => Effect.succeed("l")
      })
      const agent = Agent.make("clerk", {
        tools: [
          plain("page", { trust: "untrusted" }),
          plain("shown", { toModelOutput: () => [Prompt.textPart({ text: "a seat" })] }),
          flight,
          Trip,
          Odd,
          Look,
          Fail
        ] as never,
        onTainted: { allow: ["page", "shown", "flight"] },
        compensation: {}
      } as never) as never as Agent.Agent<string, string, unknown, never>
      const exit = yield* Effect.exit(agent.run("Book")).pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls(["flight", "look", "trip", "odd", "shown", "page"].map((name) => book(name, 1))),
          ScriptedModel.calls([{ name: "fail", params: {}, id: "f" }])
        ]))
      )
      const record = Exit.isFailure(exit) ? Option.getOrThrow(RunRecord.fromCause(exit.cause)) : assert.fail()
      const message = record.transcript.content.find(({ role }) => role === "tool")!
      const results = Object.fromEntries(
        (message.content as ReadonlyArray<{ name: string; result: any; modelOutput?: unknown }>).map((part) => [
          part.name,
          part
        ])
      )
      assert.deepStrictEqual(results["flight"]!.result, { undone: ["flight"], result: "seat 1" })
      assert.deepStrictEqual(results["look"]!.result, "l")
      assert.deepStrictEqual(results["trip"]!.result, { undone: ["hotel", "flight"], result: "both" })
      assert.deepInclude(results["odd"]!.result, { status: "error", undone: ["flight"] })
      assert.deepStrictEqual(results["shown"]!.result, { undone: ["shown"], result: "seat 1" })
      assert.deepStrictEqual(
        (results["shown"]!.modelOutput as ReadonlyArray<{ readonly text: string }>).map(({ text }) => text),
        ["{\"undone\":[\"shown\"]}", "a seat"]
      )
      assert.deepInclude(results["page"]!.result, { untrusted: true, content: "seat 1", undone: ["page"] })
      assert.isFalse("modelOutput" in results["flight"]!)
    }))
})

describe("a compensation that fails", () => {
  const outcomes: ReadonlyArray<readonly [string, () => Effect.Effect<void, unknown>, string]> = [
    ["by its error", () => Effect.fail(new Refused({ id: 1 })), "failed: Refused"],
    ["by a value without a tag", () => Effect.fail("no"), "failed: Error"],
    ["by a defect", () => Effect.die(new Error("secret")), "failed: Defect"],
    [
      "by a throw",
      () => {
        throw new Error("secret")
      },
      "failed: Defect"
    ],
    ["by an interruption", () => Effect.interrupt, "failed: Interrupted"]
  ]
  for (const [how, compensate, told] of outcomes) {
    it.effect(`${how} is reported by name, and hides no other error`, () =>
      Effect.gen(function*() {
        const desk = new Desk()
        const reports: Array<ToolError.NotCompensated> = []
        const audits: Array<string> = []
        const steps = new Map<string, Schema.Json>()
        const agent = Agent.make("clerk", {
          tools: [desk.tool("flight"), desk.tool("hotel", { compensate }), desk.tool("car"), Fail],
          compensation: { report: (left) => Effect.sync(() => void reports.push(...left)) }
        })
        const life = (journal: Journal.Journal) => {
          const turns = failing(book("flight", 1), book("hotel", 2), book("car", 3))
          return Effect.exit(agent.run("Book", { runId: "r" }) as Effect.Effect<string, unknown, never>).pipe(
            Effect.provide(Layer.merge(
              ScriptedModel.layer(({ prompt }) =>
                turns[prompt.content.filter(({ role }) => role === "assistant").length]!
              ),
              Audit.layer(({ decision, reason }) => Effect.sync(() => void audits.push(`${decision} ${reason ?? ""}`)))
            )),
            Effect.provideService(Journal.CurrentJournal, journal)
          )
        }
        const exit = yield* life(journalOf(new Map(), steps))
        const error = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
        assert.strictEqual((error as { readonly _tag?: string } | undefined)?._tag, "ExecutionError")
        assert.deepStrictEqual(desk.log, [
          "flight 1",
          "hotel 2",
          "car 3",
          "undo car 3 103 3",
          "undo flight 1 101 1"
        ])
        assert.deepStrictEqual(audits, ["compensated ", `not_compensated ${told}`, "compensated "])
        const name = told.split(": ")[1]!
        assert.deepStrictEqual(reports.map(({ because, error, tool }) => [tool, because, error]), [[
          "hotel",
          "failed",
          name
        ]])
        assert.include(reports[0]!.message, told)
        const record = Exit.isFailure(exit) ? RunRecord.fromCause(exit.cause) : undefined
        assert.deepStrictEqual(
          record?._tag === "Some" ? record.value.compensations?.map(({ error, outcome }) => [outcome, error]) : [],
          [["undone", undefined], ["not_undone", name], ["undone", undefined]]
        )
        // The next execution still knows it, and no text for operators is stored.
        assert.notInclude(JSON.stringify([...steps]), "secret")
        yield* life(journalOf(steps, new Map()))
        assert.deepStrictEqual(reports.slice(1).map(({ because, error }) => [because, error]), [["failed", name]])
        assert.strictEqual(desk.log.length, 5)
        assert.strictEqual(audits.length, 3)
      }))
  }
})

describe("an approval that is refused later", () => {
  it.effect("compensates earlier writes at the end, informs the model, keeps later ones", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const Pay = desk.tool("pay", { needsApproval: true })
      const agent = Agent.make("clerk", {
        tools: [desk.tool("flight"), Pay, desk.tool("train")],
        compensation: {}
      })
      const { layer, requests } = recorded([
        ScriptedModel.calls([book("flight", 1)]),
        ScriptedModel.calls([book("pay", 2)]),
        ScriptedModel.calls([book("train", 3)]),
        ScriptedModel.text("By train, then.")
      ])
      const { events, layer: heard } = collect()
      const outcome = yield* Effect.gen(function*() {
        const paused = yield* agent.start("Book") as Effect.Effect<Approval.Outcome<string>, unknown, never>
        if (paused._tag !== "Paused") return assert.fail("it waits")
        // In another process: only the snapshot remains.
        const snapshot = JSON.parse(JSON.stringify(paused.snapshot))
        return yield* agent.resume(snapshot, [Approval.reject(paused.pending[0]!, "too dear")]) as Effect.Effect<
          Approval.Outcome<string>,
          unknown,
          never
        >
      }).pipe(Effect.provide(Layer.mergeAll(layer, heard, key)))
      assert.deepStrictEqual(outcome, new Approval.Completed({ output: "By train, then." }))
      assert.deepStrictEqual(desk.log, ["flight 1", "train 3", "undo flight 1 101 1"])
      const [rejected] = lastResults(requests[2]!.prompt)
      assert.include(JSON.stringify(rejected!.result), "are compensated when you have answered")
      assert.deepStrictEqual(told(events), ["flight_1 undone"])
    }))

  it.effect("over a pause: the resuming process compensates from the snapshot", () =>
    Effect.gen(function*() {
      const made = (desk: Desk) =>
        Agent.make("clerk", {
          tools: [desk.tool("flight"), desk.tool("pay", { needsApproval: true }), Fail],
          compensation: {}
        })
      const turns = failing(book("flight", 1), book("pay", 2))
      const first = new Desk()
      const second = new Desk()
      const model = recorded(turns).layer
      yield* Effect.gen(function*() {
        const paused = yield* made(first).start("Book") as Effect.Effect<Approval.Outcome<string>, unknown, never>
        if (paused._tag !== "Paused") return assert.fail("it waits")
        const snapshot = JSON.parse(JSON.stringify(paused.snapshot))
        const resumed = made(second).resume(snapshot, [Approval.approve(paused.pending[0]!)])
        const exit = yield* Effect.exit(resumed as Effect.Effect<unknown, unknown, never>)
        assert.isTrue(Exit.isFailure(exit))
      }).pipe(Effect.provide(Layer.mergeAll(model, key)))
      assert.deepStrictEqual(first.log, ["flight 1"])
      assert.deepStrictEqual(second.log, ["pay 2", "undo pay 2 102 2", "undo flight 1 101 1"])
    }))
})

describe("agents in agents, tools in tools", () => {
  const ask = (agent: Agent.Any) =>
    Agent.asTool("ask", { description: "Asks", parameters: Schema.Struct({}), success: Schema.String } as never)(
      agent as never
    ) as unknown as Tool.Tool<"ask", Schema.Top, Schema.Top, unknown, never>

  const modelOf = (turns: Readonly<Record<string, ReadonlyArray<ScriptedModel.Turn>>>) =>
    ScriptedModel.layer(({ prompt }) => {
      const [first] = prompt.content
      const who = first?.role === "system" ? first.content : ""
      return turns[who]![prompt.content.filter(({ role }) => role === "assistant").length]!
    })

  it.effect("the outer agent compensates the writes of a successful inner one", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const { events, layer } = collect()
      const inner = Agent.make("inner", {
        instructions: "inner",
        input: Schema.Struct({}),
        tools: [desk.tool("flight")]
      })
      const outer = Agent.make("outer", {
        instructions: "outer",
        tools: [ask(inner), desk.tool("hotel"), Fail],
        compensation: {}
      })
      yield* Effect.exit(outer.run("Go") as Effect.Effect<unknown, unknown, never>).pipe(
        Effect.provide(Layer.merge(
          modelOf({
            outer: [
              ScriptedModel.calls([{ name: "ask", params: {}, id: "a" }]),
              ...failing(book("hotel", 2))
            ],
            inner: [ScriptedModel.calls([book("flight", 1)]), ScriptedModel.text("Booked")]
          }),
          layer
        ))
      )
      assert.deepStrictEqual(desk.log, ["flight 1", "hotel 2", "undo hotel 2 102 2", "undo flight 1 101 1"])
      assert.deepStrictEqual(told(events), ["hotel_2 undone", "a/flight_1 undone"])
    }))

  it.effect("the inner agent's compensations are not repeated", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const inner = Agent.make("inner", {
        instructions: "inner",
        input: Schema.Struct({}),
        tools: [desk.tool("flight"), Fail],
        compensation: {}
      })
      const outer = Agent.make("outer", {
        instructions: "outer",
        tools: [ask(inner), Fail],
        onToolError: { ask: (call) => Effect.catch(call, () => Effect.succeed("no")) },
        compensation: {}
      })
      const exit = yield* Effect.exit(outer.run("Go") as Effect.Effect<unknown, unknown, never>).pipe(
        Effect.provide(modelOf({
          outer: [
            ScriptedModel.calls([{ name: "ask", params: {}, id: "a" }]),
            ScriptedModel.call("fail", {}, { id: "f" })
          ],
          inner: failing(book("flight", 1))
        }))
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(desk.log, ["flight 1", "undo flight 1 101 1"])
    }))

  it.effect("compensates a tool's call with the services of its execution", () =>
    Effect.gen(function*() {
      class Office extends Context.Service<Office, { readonly name: string }>()("test/Office") {}
      const desk = new Desk()
      const Inner = Tool.make("inner", {
        parameters: Params,
        effects: "write",
        execute: ({ n }) => Effect.flatMap(Office, ({ name }) => Effect.sync(() => void desk.log.push(`${name} ${n}`))),
        compensate: ({ n }) =>
          Effect.flatMap(Office, ({ name }) => Effect.sync(() => void desk.log.push(`undo ${name} ${n}`)))
      })
      const Outer = Tool.make("outer", {
        effects: "write",
        execute: () =>
          Inner.call.pipe(
            Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "i", arguments: { n: 4 } })),
            Effect.provideService(Office, { name: "Rome" })
          )
      })
      const { events, layer } = collect()
      yield* Effect.exit(
        Agent.make("clerk", { tools: [Outer, Fail], compensation: {} }).run("Go") as Effect.Effect<
          unknown,
          unknown,
          never
        >
      ).pipe(
        Effect.provide(Layer.merge(
          ScriptedModel.layer([
            ScriptedModel.call("outer", {}, { id: "o" }),
            ScriptedModel.call("fail", {}, { id: "f" })
          ]),
          layer
        ))
      )
      assert.deepStrictEqual(desk.log, ["Rome 4", "undo Rome 4"])
      assert.deepStrictEqual(told(events), ["o/i undone"])
    }))

  it.effect("a conversation that is given away is no failure", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const to = Agent.make("to", { instructions: "to" })
      const from = Agent.make("from", {
        instructions: "from",
        tools: [desk.tool("flight"), Agent.handoffTo("to", { description: "Goes on" })],
        compensation: {}
      })
      const exit = yield* Effect.exit(from.run("Go") as Effect.Effect<unknown, unknown, never>).pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls([book("flight", 1)]),
          ScriptedModel.call("transfer_to_to", {}, { id: "t" })
        ]))
      )
      assert.isTrue(Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause))
      assert.strictEqual(to.name, "to")
      assert.deepStrictEqual(desk.log, ["flight 1"])
    }))
})

describe("the key of a compensated write", () => {
  for (const key of ["its own", "the call's"] as const) {
    it.effect(`${key}: the next run executes it again, without a ledger answer`, () =>
      Effect.gen(function*() {
        const desk = new Desk()
        const idempotency = key === "its own" ? { key: ({ n }: typeof Params.Type) => `book ${n}` } : true
        const agent = Agent.make("travel", {
          tools: [desk.tool("flight", { idempotency }) as never, Fail],
          compensation: {}
        }) as unknown as Agent.Agent<string, string, unknown, never>
        const run = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
          Effect.exit(agent.run("x", { runId: "same" }).pipe(Effect.provide(ScriptedModel.layer(turns))))
        yield* run(...failing(book("flight", 1)))
        assert.deepStrictEqual(desk.log, ["flight 1", "undo flight 1 101 1"])
        yield* run(ScriptedModel.calls([book("flight", 1)]), ScriptedModel.text("booked"))
        assert.deepStrictEqual(desk.log, ["flight 1", "undo flight 1 101 1", "flight 1"])
        yield* run(ScriptedModel.calls([book("flight", 1)]), ScriptedModel.text("booked"))
        assert.strictEqual(desk.log.length, 3, "what is not undone is done once")
      }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
  }

  it.effect("is not free if the compensation failed", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const flight = desk.tool("flight", { idempotency: { key: () => "k" }, compensate: () => Effect.fail(new Down()) })
      const agent = Agent.make("travel", {
        tools: [flight as never, Fail],
        compensation: {}
      }) as unknown as Agent.Agent<
        string,
        string,
        unknown,
        never
      >
      const run = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
        Effect.exit(agent.run("x").pipe(Effect.provide(ScriptedModel.layer(turns))))
      yield* run(...failing(book("flight", 1)))
      yield* run(ScriptedModel.calls([book("flight", 1)]), ScriptedModel.text("booked"))
      assert.deepStrictEqual(desk.log, ["flight 1"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("agents that are made of agents, and of calls", () => {
  const key = Approval.layerKey(Redacted.make("k".repeat(32)))
  const down = Agent.fromFunction("down", (_: string): Effect.Effect<string, Down> => Effect.fail(new Down()))

  it.effect("compensate the writes of earlier steps", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const left: Array<string> = []
      const booker = Agent.make("booker", { tools: [desk.tool("flight"), desk.tool("hotel")] })
      const agent = booker.pipe(
        Agent.andThen(down),
        Agent.compensated({ report: (all) => Effect.sync(() => void left.push(...all.map(({ tool }) => tool))) })
      )
      const { compensations, exit } = yield* agent.report("x")
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(desk.log, ["flight 1", "hotel 2", "undo hotel 2 102 2", "undo flight 1 101 1"])
      assert.deepStrictEqual(compensations?.map(({ outcome }) => outcome), ["undone", "undone"])
      assert.deepStrictEqual(left, [])
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.calls([book("flight", 1)]),
      ScriptedModel.calls([book("hotel", 2)]),
      ScriptedModel.text("booked")
    ]))))

  it.effect("over a pause, in a process with only the snapshot", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const agent = () => {
        const booker = Agent.make("booker", {
          tools: [desk.tool("flight"), desk.tool("hotel", { needsApproval: true })],
          defaults: { onError: Recovery.standard }
        })
        return booker.pipe(Agent.andThen(down), Agent.compensated({}))
      }
      const turns = [
        ScriptedModel.calls([book("flight", 1)]),
        ScriptedModel.calls([book("hotel", 2)]),
        ScriptedModel.text("booked")
      ] as const
      const process = <A, E>(effect: Effect.Effect<A, E, any>) =>
        effect.pipe(Effect.provide([key, ScriptedModel.layer(ScriptedModel.steps(turns))])) as Effect.Effect<A, E>
      const paused = yield* process(agent().start("x")) as Effect.Effect<Approval.Outcome<string>, unknown>
      assert.strictEqual(paused._tag, "Paused")
      const { pending, snapshot } = paused as Approval.Paused
      assert.deepStrictEqual(desk.log, ["flight 1"])
      const decisions = pending.map((call) => Approval.approve(call))
      yield* Effect.exit(process(agent().resume(JSON.parse(JSON.stringify(snapshot)), decisions)))
      assert.deepStrictEqual(desk.log, ["flight 1", "hotel 2", "undo hotel 2 102 2", "undo flight 1 101 1"])
    }))

  it.effect("a failed call of another library's loop is compensated", () =>
    Effect.gen(function*() {
      const desk = new Desk()
      const Flight = desk.tool("flight")
      const Trip = Tool.make("trip", {
        effects: "write",
        execute: () =>
          Effect.andThen(
            Effect.provideService(Flight.call, ToolCall.ToolCall, ToolCall.make({ id: "f", arguments: { n: 1 } })),
            Effect.fail("no hotel" as const)
          )
      })
      const tools = Agent.forCalls("tools", { tools: [Trip], compensation: { tools: [Flight] } })
      yield* Effect.exit(tools.run({ id: "c", name: "trip", arguments: {} }))
      assert.deepStrictEqual(desk.log, ["flight 1", "undo flight 1 101 1"])
    }))
})
