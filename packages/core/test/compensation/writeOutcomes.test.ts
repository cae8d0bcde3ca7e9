/**
 * The outcome of each compensation, and its receivers: the report, the audit, the events, the record, the conversation,
 * the spans.
 */

import { assert, describe, it } from "@effect/vitest"
import { Drive } from "@recourse/testing"
import { Effect, Exit, Layer, Schema, SchemaGetter, Tracer } from "effect"
import type { ToolError } from "@recourse/core"
import {
  Approval,
  Audit,
  IdempotencyLedger,
  Journal,
  Reconciliation,
  type RunRecord,
  RunRecord as Records,
  Tool,
  ToolCall
} from "@recourse/core"
import { key } from "../support/bookings.ts"
import { journalOf } from "../support/interruptedRuns.ts"
import { collect, Down } from "../support/kit.ts"
import {
  agentOf,
  type AnyTool,
  at,
  looks,
  lost,
  model,
  Params,
  reportOf,
  stored,
  tool,
  type World,
  worldOf
} from "../support/writeFates.ts"

/** A tool, and the outcome of its write's compensation. */
interface Fate {
  readonly more?: object
  readonly outcome: RunRecord.CompensatedCall["outcome"]
  readonly because?: ToolError.NotCompensated["because"]
  readonly error?: string
  /** The mark of the call's result. */
  readonly mark?: "undone" | "may_be_undone"
}

const fates: Readonly<Record<string, Fate>> = {
  done: { outcome: "undone", mark: "undone" },
  found: {
    more: looks(Effect.succeed(Reconciliation.completed({ at: new Date(7) }))),
    outcome: "undone",
    mark: "undone"
  },
  absent: { more: looks(Effect.succeed(Reconciliation.notStarted)), outcome: "not_happened" },
  unclear: {
    more: looks(Effect.succeed(Reconciliation.unknown)),
    outcome: "not_undone",
    because: "unknown",
    error: "OutcomeUnknown"
  },
  lost: { more: lost, outcome: "not_undone", because: "unknown" },
  half: {
    more: { execute: () => ToolCall.partial({ succeeded: [1], failed: [] }) },
    outcome: "not_undone",
    because: "partial"
  },
  task: { more: { execute: () => ToolCall.pending("t") }, outcome: "not_undone", because: "pending" },
  stuck: {
    more: { compensate: () => Effect.fail(new Down()) },
    outcome: "not_undone",
    because: "failed",
    error: "Down",
    mark: "may_be_undone"
  },
  slow: { more: { compensate: () => Effect.never }, outcome: "not_undone", because: "timeout", mark: "may_be_undone" }
}

const names = Object.keys(fates)

/** Collects the spans of compensations. */
const spansOf = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      if (span.name.startsWith("compensate_tool")) spans.push(span)
      return span
    }
  })
  return { spans, tracer }
}

/** Without undefined fields. */
const defined: (value: object) => unknown = stored

/** The marks of the result of a tool's call, by the name of the tool. */
const marksOf = (result: unknown, tool: string): ReadonlyArray<string> =>
  Object.entries(result as object).flatMap(([key, value]) => JSON.stringify(value) === `["${tool}"]` ? [key] : [])

/**
 * Ways of a run to its end: in its only execution, in another process after a pause, or in an execution of a journaled
 * run.
 */
const ways = ["in one go", "over a pause", "with a journal"] as const

describe("a write with a due compensation", () => {
  for (const way of ways) {
    it.effect(`is compensated, or reported with its reason, once: ${way}`, () =>
      Effect.gen(function*() {
        const world = worldOf()
        const reports: Array<ReadonlyArray<ToolError.NotCompensated>> = []
        const audits: Array<Audit.AuditRecord> = []
        const { events, layer: heard } = collect()
        const { spans, tracer } = spansOf()
        const agent = () => agentOf(Object.entries(fates).map(([name, { more }]) => tool(world, name, more)), reports)
        const { life } = journalOf()
        const run: Effect.Effect<unknown, unknown, never> = way === "over a pause"
          ? Effect.flatMap(agent().start("go"), (paused) =>
            paused._tag === "Paused"
              ? agent().resume(stored(paused.snapshot), paused.pending.map((call) => Approval.approve(call)))
              : assert.fail("it waits"))
          : agent().run("go", { runId: "run_1" })
        const play = (journal: Journal.Journal | undefined) =>
          Drive.drive(
            Effect.exit(run).pipe(
              Effect.provide(Layer.mergeAll(model(names, way === "over a pause"), heard, key)),
              Effect.provide(Audit.layer((record) => Effect.sync(() => audits.push(record)))),
              Effect.provideService(Journal.CurrentJournal, journal),
              Effect.withTracer(tracer)
            ) as Effect.Effect<Exit.Exit<unknown, unknown>>,
            { step: "10 seconds" }
          )
        const exit = yield* Effect.provide(
          way === "with a journal"
            ? Effect.flatMap(play(life().journal), (first) =>
              // The next execution knows all of it.
              Effect.as(play(life().journal), first))
            : play(undefined),
          IdempotencyLedger.layerMemory
        )
        const newest = Object.entries(fates).toReversed()
        const expected = newest.map(([name, { because, error, outcome }]) =>
          defined({ callId: `c_${name}`, tool: name, outcome, because, error })
        )
        assert.deepStrictEqual<unknown>(reportOf(events), expected)
        assert.deepStrictEqual<unknown>(
          audits.flatMap(({ callId, decision, reason, tool }) =>
            decision.endsWith("compensated") ? [defined({ callId, tool, decision, reason })] : []
          ),
          newest.map(([name, { because, error, outcome }]) =>
            defined({
              callId: `c_${name}`,
              tool: name,
              decision: outcome === "not_undone" ? "not_compensated" : "compensated",
              reason: error === undefined ? because : `${because}: ${error}`
            })
          )
        )
        const left = newest.filter(([, { outcome }]) => outcome === "not_undone")
        assert.strictEqual(reports.length, way === "with a journal" ? 2 : 1)
        for (const report of reports) {
          assert.deepStrictEqual<unknown>(
            report.map(({ arguments: args, because, callId, error, tool }) =>
              defined({ callId, tool, because, error, arguments: args })
            ),
            left.map(([name, { because, error }]) =>
              defined({ callId: `c_${name}`, tool: name, because, error, arguments: { at } })
            )
          )
        }
        assert.instanceOf(reports[0]!.find(({ tool }) => tool === "stuck")?.reason, Down)
        const { compensations, transcript } = Exit.isFailure(exit)
          ? (Records.fromCause(exit.cause) as { readonly value: RunRecord.RunRecord }).value
          : assert.fail()
        assert.deepStrictEqual<unknown>(compensations?.map(defined), expected)
        const results = transcript.content.flatMap((message) => message.role === "tool" ? message.content : [])
        const marks = results.flatMap((part) =>
          part.type === "tool-result" && names.includes(part.name)
            ? [[part.name, ...marksOf(part.result, part.name)]]
            : []
        )
        assert.deepStrictEqual<unknown>(
          marks,
          Object.entries(fates).map(([name, { mark }]) => [name, ...mark === undefined ? [] : [mark]])
        )
        assert.deepStrictEqual<unknown>(world.undone, [
          ["found", { at: new Date(0) }, { at: new Date(7) }],
          ["done", { at: new Date(0) }, { at: new Date(0) }]
        ])
        assert.deepStrictEqual<unknown>(
          spans.map(({ attributes, name }) => [name, Object.fromEntries(attributes)]),
          newest.map(([name, { because }]) => [
            `compensate_tool ${name}`,
            {
              "gen_ai.tool.name": name,
              "gen_ai.tool.call.id": `c_${name}`,
              "gen_ai.tool.type": "function",
              ...because === undefined ? undefined : { "error.type": because }
            }
          ])
        )
      }))
  }
})

describe("a write that another process compensates", () => {
  const Other = Schema.Struct({ n: Schema.Int })
  const Broken = Schema.Struct({
    at: Schema.String.pipe(Schema.decodeTo(Schema.String, {
      decode: SchemaGetter.transform((): string => {
        throw new Error("no")
      }),
      encode: SchemaGetter.transform((at: string) => at)
    }))
  })
  const today: Readonly<Record<string, readonly [(world: World) => ReadonlyArray<AnyTool>, string]>> = {
    "is undone by the tool of today": [(world) => [tool(world, "book")], "undone"],
    "is undone without a result, where that is none": [
      (world) => [tool(world, "book", { success: Schema.Unknown })],
      "undone"
    ],
    "is left where no tool has its name": [() => [], "no_tool"],
    "is left where its tool does not undo any more": [
      (world) => [tool(world, "book", { compensate: undefined })],
      "no_tool"
    ],
    "is left where its arguments do not fit any more": [
      (world) => [tool(world, "book", { parameters: Other })],
      "unreadable"
    ],
    "is left where its arguments cannot be looked at": [
      (world) => [tool(world, "book", { parameters: Broken })],
      "failed"
    ],
    "is left where its result does not fit any more": [
      (world) => [tool(world, "book", { success: Other })],
      "unreadable"
    ]
  }
  const waiting = Effect.map(
    agentOf([tool(worldOf(), "book")]).start("go").pipe(Effect.provide([model(["book"], true), key])),
    (paused) => paused._tag === "Paused" ? stored(paused.snapshot) : assert.fail("it waits")
  )
  for (const [name, [tools, expected]] of Object.entries(today)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const world = worldOf()
        const { events, layer: heard } = collect()
        const snapshot = yield* waiting
        // It is cancelled while it waits: that calls the tools only to compensate.
        const { journal } = journalOf().life()
        yield* Effect.exit(agentOf(tools(world)).resume({ ...snapshot }, [])).pipe(
          Effect.provide([model(["book"], true), key, heard]),
          Effect.provideService(Journal.CurrentJournal, {
            ...journal,
            runId: snapshot.runId,
            isResumed: true,
            isCancelled: () => true
          })
        )
        assert.deepStrictEqual<unknown>(reportOf(events).map(({ because, outcome }) => because ?? outcome), [expected])
        assert.strictEqual(world.undone.length, expected === "undone" ? 1 : 0)
        // It has ended: compensated writes are not resumed.
        const again = yield* Effect.flip(agentOf([tool(world, "book")]).resume({ ...snapshot }, [])).pipe(
          Effect.provide([model(["book"], true), key])
        )
        assert.deepInclude(again, { _tag: "SnapshotRefused", reason: "used" })
      }))
  }

  it.effect("stays if JSON cannot represent its result", () =>
    Effect.gen(function*() {
      const { events, layer: heard } = collect()
      const odd = tool(worldOf(), "odd", { success: Schema.Unknown, execute: () => Effect.succeed(() => 1) })
      const Book = Tool.make("book", {
        parameters: Params,
        effects: "write",
        execute: () =>
          Effect.asVoid(
            Effect.provideService(odd.call, ToolCall.ToolCall, ToolCall.make({ id: "x", arguments: { at } }))
          ) as Effect.Effect<void>
      })
      const agent = agentOf([Book], [], { compensation: { tools: [odd] } })
      yield* Effect.exit(
        Effect.flatMap(agent.start("go"), (paused) =>
          paused._tag === "Paused"
            ? agent.resume(stored(paused.snapshot), paused.pending.map((call) => Approval.approve(call)))
            : assert.fail("it waits"))
      ).pipe(Effect.provide([model(["book"], true), key, heard]))
      assert.deepStrictEqual<unknown>(reportOf(events), [
        { callId: "c_book/x", tool: "odd", outcome: "not_undone", because: "unreadable" }
      ])
    }))
})
