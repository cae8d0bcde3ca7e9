/** Agents of the havoc: their writes go to the external bank, and each call has the name of its write as its id. */
import { Agent, ErrorProjection, Recovery, Tool, ToolCall } from "@recourse/core"
import { Durable, Signal } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Order } from "./bank.ts"

class Unavailable extends Schema.TaggedError<Unavailable>()(
  "Unavailable",
  {},
  ErrorProjection.declare<object>({ code: "upstream_error", outcome: "not_done" })
) {}

/** Behaviours of the runs of the havoc. */
export const kinds = [
  "plain",
  "nested",
  "approved",
  "signalled",
  "parent",
  "recalled",
  "failing",
  "cancelled",
  "refused",
  "undone"
] as const

/** The behaviour of a run of the havoc. Its id starts with it. */
export type Kind = (typeof kinds)[number]

const write = Schema.Struct({ run: Schema.String, op: Schema.String })
const success = Schema.String

/** A write of a run: its call has the same id. */
const call = (name: string, run: string, op: string) => ({ name, params: { run, op }, id: op })

/** It starts a child, and pays. */
const parentTurns = (run: string) => [
  ScriptedModel.calls([call("delegate", run, "l"), call("pay", run, "a")])
]

const deskTurns = (run: string): Record<string, ReadonlyArray<ScriptedModel.Turn>> => ({
  plain: [
    ScriptedModel.calls([
      { name: "balance", params: {}, id: "look" },
      call("pay", run, "a"),
      call("pay_keyed", run, "b"),
      call("note", run, "n")
    ]),
    ScriptedModel.call("pay", { run, op: "e" }, { id: "e" })
  ],
  nested: [
    ScriptedModel.call("pay_keyed", { run, op: "b" }, { id: "b" }),
    ScriptedModel.call("clerk", { run }, { id: "clerk" })
  ],
  approved: [
    ScriptedModel.call("pay", { run, op: "a" }, { id: "a" }),
    ScriptedModel.calls([call("transfer", run, "t"), call("pay_keyed", run, "b")])
  ],
  signalled: [
    ScriptedModel.call("parcel", {}, { id: "parcel" }),
    ScriptedModel.call("pay", { run, op: "a" }, { id: "a" })
  ],
  parent: parentTurns(run),
  recalled: parentTurns(run)
})

const tripTurns = (run: string): Record<string, ReadonlyArray<ScriptedModel.Turn>> => {
  const booked = [
    ScriptedModel.calls([call("pay", run, "a"), call("pay_keyed", run, "b")]),
    ScriptedModel.call("clerk", { run }, { id: "clerk" })
  ]
  return {
    undone: booked,
    failing: [...booked, ScriptedModel.failure("InvalidRequestError")],
    cancelled: [...booked, ScriptedModel.call("transfer", { run, op: "t" }, { id: "t" })],
    refused: [...booked, ScriptedModel.call("transfer", { run, op: "t" }, { id: "t" })]
  }
}

const clerkTurns = (run: string) => [
  ScriptedModel.calls([call("pay", run, "c"), call("pay_keyed", run, "d")]),
  ...(run.startsWith("nested") ? [ScriptedModel.call("transfer", { run, op: "u" }, { id: "u" })] : [])
]

/** The world outside of the agents. */
export interface Outside {
  readonly bank: string
  readonly version: string
  /** Milliseconds that models take. */
  readonly pause: number
}

/** The agents, and their model. */
export const havocAgents = ({ bank, pause, version }: Outside) => {
  const order = (order: Order) =>
    Effect.flatMap(
      Effect.tryPromise({
        try: (signal) => fetch(bank, { method: "POST", body: JSON.stringify(order), signal }),
        catch: (cause) => cause
      }).pipe(Effect.orDie),
      ({ status }) => status === 200 ? Effect.succeed("done") : Effect.fail(new Unavailable())
    )
  const retried = Recovery.retry({ times: 2, schedule: Schedule.spaced("50 millis") })
  const pay = <const Options extends object>(name: string, options: Options) =>
    Tool.make(name, {
      parameters: write,
      success,
      failure: Unavailable,
      effects: "write",
      execute: ({ op, run }) =>
        Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) =>
          order({ kind: "pay", run, op, ...(name === "pay_keyed" ? { key: idempotencyKey } : undefined) })),
      ...options
    }).pipe(Tool.onError((call) =>
      Recovery.keepGoing(retried(call))
    ))
  const compensate = ({ op, run }: typeof write.Type) =>
    Effect.flatMap(
      ToolCall.ToolCall,
      ({ idempotencyKey }) => order({ kind: "undo", run, op, key: idempotencyKey })
    )
  const Pay = pay("pay", {})
  const Keyed = pay("pay_keyed", { idempotency: true })
  const Transfer = pay("transfer", { needsApproval: true })
  const Book = pay("pay", { compensate })
  const BookKeyed = pay("pay_keyed", { idempotency: true, compensate })
  const Balance = Tool.make("balance", { success, effects: "read", execute: () => Effect.as(Effect.sleep(pause), "7") })
  const Note = Tool.make("note", {
    parameters: write,
    success,
    effects: "write",
    transaction: true,
    execute: ({ run }) =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO notes (run) VALUES (${run})`
        return "noted"
      })
  })
  const Parcel = Tool.make("parcel", {
    success,
    effects: "read",
    execute: () => Effect.orDie(Effect.retry(Signal.receive("parcel", success), { times: 20, schedule: patiently }))
  })
  const Request = Schema.Struct({ run: Schema.String })
  const defaults = { onError: Recovery.keepGoing }
  const report: NonNullable<Agent.CompensationOptions<never>["report"]> = (left) =>
    Effect.forEach(left, ({ arguments: given, because }) => {
      const { op, run } = given as typeof write.Type
      return Effect.ignore(order({ kind: "report", run, op, because }))
    }, { discard: true })
  const asTool = { description: "Books", parameters: Request, success }
  const clerkOf = (tools: ReadonlyArray<typeof Pay | typeof Keyed | typeof Transfer>) =>
    Agent.make("clerk", { input: Request, tools, defaults }).pipe(Agent.asTool("clerk", asTool))
  const continues = version === "1" ? { version } : { version, previousVersions: { "1": "continue" as const } }
  const Leaf = Durable.make(Agent.make("leaf", { tools: [Pay], defaults }))
  const Delegate = Tool.make("delegate", {
    parameters: write,
    success,
    effects: "idempotent",
    execute: ({ op, run }) =>
      Effect.flatMap(Durable.childId(), (id) =>
        Effect.orDie(
          Effect.retry(Leaf.run(id, `go leaf ${run} ${op}`), {
            schedule: patiently,
            while: ({ _tag }) => _tag === "RunsUnavailable"
          }).pipe(
            // The child of a cancelled run may end before its process learns of the cancellation.
            Effect.catchTag("RunCancelled", () => Effect.succeed("cancelled"))
          )
        ))
  })
  const Desk = Durable.make(
    Agent.make("desk", {
      tools: [Pay, Keyed, Transfer, Balance, Note, Parcel, Delegate, clerkOf([Pay, Keyed, Transfer])],
      approval: { timeToLive: "1 day" },
      defaults
    }),
    continues
  )
  const Trip = Durable.make(
    Agent.make("trip", {
      tools: [Book, BookKeyed, Transfer, clerkOf([Book, BookKeyed])],
      approval: { timeToLive: "1 day" },
      compensation: { report },
      defaults
    }),
    { ...continues, queue: { concurrency: 20 } }
  )
  const model = ScriptedModel.layer(({ prompt, tools }) => {
    const first = JSON.stringify(prompt.content.find(({ role }) => role === "user")?.content)
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    const [, run = "?"] = /([a-z]+-\d+)/.exec(first) ?? []
    const kind = run.split("-")[0]!
    const turns = first.includes("leaf")
      ? [ScriptedModel.call("pay", { run, op: "l" }, { id: "l" })]
      : tools.length <= 3
      ? clerkTurns(run)
      : { ...deskTurns(run), ...tripTurns(run) }[kind] ?? []
    return ScriptedModel.delay(pause, turns[turn] ?? ScriptedModel.text("done"))
  })
  return { Desk, Trip, Leaf, model }
}

/** A database that is away answers again. */
export const patiently = Schedule.spaced("500 millis")
