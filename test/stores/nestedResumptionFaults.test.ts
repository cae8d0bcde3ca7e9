/**
 * A run that resumes with an inner agent, on a store of resumptions of which one statement fails, loses its answer or
 * hangs: each in turn. The approved call is done once. The agent's earlier writes stay with a successful run, are
 * compensated, or wait for the run's resumption.
 */
import { Agent, AgentEvent, Approval, Recovery, StoreTimeout, Tool } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Redacted, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { isChosen } from "../../packages/core/test/support/operations.ts"
import { watchedSql } from "../support/watchedSql.ts"

const kinds = ["fails", "lost", "hangs", "done and hangs"] as const
type Kind = (typeof kinds)[number]

interface Fault {
  readonly at: number
  readonly kind: Kind
}

const reset = Effect.fail(new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: "drawn" }) }))

/** A client of which one statement has the fault, from when it is ready. */
const faultySql = ({ at, kind }: Fault) => {
  const state = { isReady: false, statements: 0, met: false }
  const meets = (...of: ReadonlyArray<Kind>): boolean => {
    const isMet = state.isReady && state.statements === at && of.includes(kind)
    state.met ||= isMet
    return isMet
  }
  const layer = watchedSql({
    before: () =>
      Effect.suspend(() => {
        if (state.isReady) state.statements++
        return !meets("fails", "hangs") ? Effect.void : kind === "fails" ? reset : Effect.never
      }),
    after: () =>
      Effect.suspend(() => !meets("lost", "done and hangs") ? Effect.void : kind === "lost" ? reset : Effect.never)
  })
  return { state, layer }
}

type Runs = Agent.Agent<unknown, unknown, unknown, never>
type Waits = Runs & Agent.Resumable<unknown, unknown, unknown, never, never>

const input = Schema.Struct({})
const standard = { defaults: { onError: Recovery.standard } } as const

const asTool = (agent: Runs, name: string) =>
  (agent as Agent.Agent<unknown, string>).pipe(
    Agent.asTool(name, { description: "Asks", parameters: input, success: Schema.String } as never)
  )

const boss = (agent: Runs, compensation?: object) =>
  Agent.make(
    "boss",
    { ...standard, ...compensation, instructions: "boss", input, tools: [asTool(agent, "ask")] } as never
  ) as never as Waits

const undoes = { compensation: {} }

/** Agents around the waiting one, and the compensating ones. */
const forms: Readonly<Record<string, (a: (more: object) => Waits) => Waits>> = {
  "an agent that is a tool": (a) => boss(a(undoes)),
  "an agent that is a tool, of one that undoes": (a) => boss(a({}), undoes),
  "an agent of several": (a) => Agent.all("w", [a(undoes)]) as never as Waits,
  "an agent that is a tool, of one of several": (a) => Agent.all("w", [boss(a(undoes))]) as never as Waits,
  "an agent that is raced": (a) => Agent.firstOf("w", [a(undoes)]) as never as Waits,
  "agents that vote": (a) => a(undoes).pipe(Agent.vote(2)) as never as Waits
}

const models = ScriptedModel.layer((request, index) => {
  const [first] = request.prompt.content
  const isBoss = first?.role === "system" && first.content.startsWith("boss")
  return ScriptedModel.steps(
    isBoss
      ? [ScriptedModel.call("ask", {}, { id: "s" }), ScriptedModel.text("done")]
      : [
        ScriptedModel.call("book", {}, { id: "b" }),
        ScriptedModel.call("pay", {}, { id: "p" }),
        ScriptedModel.text("paid")
      ]
  )(request, index)
})

const key = Approval.layerKey(Redacted.make("k".repeat(32)))
const count = (log: ReadonlyArray<string>, what: string) => log.filter((one) => one === what).length

/** Starts, waits, resumes with the fault, and resumes once more like another process after the lease. */
const play = (form: (a: (more: object) => Waits) => Waits, isApproved: boolean, fault: Fault) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const log: Array<string> = []
    const logs: Array<string> = []
    let told = 0
    const Book = Tool.make("book", {
      success: Schema.String,
      effects: "write",
      execute: () => Effect.sync(() => (log.push("book"), "booked")),
      compensate: () => Effect.sync(() => void log.push("unbook"))
    })
    const Pay = Tool.make("pay", {
      effects: "write",
      needsApproval: true,
      execute: () => Effect.sync(() => void log.push("pay"))
    })
    const agent = form((more) =>
      Agent.make(
        "a",
        { ...standard, ...more, instructions: "a", input: Schema.Unknown, tools: [Book, Pay] } as never
      ) as never as Waits
    )
    const stores = Layer.fresh(Layer.mergeAll(
      Approval.layerResumptionsSql(),
      Logger.layer([Logger.make(({ message }) => logs.push(String(message)))]),
      AgentEvent.listen((event) => Effect.sync(() => void (event._tag === "ToolCompensated" && told++)))
    ))
    const begun = yield* agent.start({}).pipe(Effect.provide([stores, models, key]))
    assert(begun._tag === "Paused")
    const snapshot: unknown = JSON.parse(JSON.stringify(begun.snapshot))
    const decisions = begun.pending.map((one) => isApproved ? Approval.approve(one) : Approval.reject(one, "no"))
    const resumed = Effect.exit(agent.resume(snapshot, decisions))
    const { layer, state } = faultySql(fault)
    const ready = Effect.sync(() => {
      state.isReady = true
    })
    const first = yield* Effect.andThen(ready, resumed).pipe(
      Effect.provide([Layer.provide(stores, layer), models, key, StoreTimeout.layer("20 millis")])
    )
    const hasRun = log.includes("pay") || log.includes("unbook")
    yield* sql`UPDATE recourse_resumptions SET leased_until = 0 WHERE ended_at IS NULL`
    const second = yield* resumed.pipe(Effect.provide([stores, models, key]))
    const [books, pays, unbooks] = ["book", "pay", "unbook"].map((what) => count(log, what)) as [number, number, number]
    const wrong: Array<string> = []
    if (pays > (isApproved ? books : 0)) wrong.push("paid twice")
    if (unbooks > books) wrong.push("undone twice")
    if (told !== unbooks) wrong.push("undone and not told")
    const isGood = [first, second].some(Exit.isSuccess)
    // An approved call is done, or no write of the run remains; after a rejection all writes are compensated.
    if (isApproved ? pays + unbooks !== books : unbooks !== books) wrong.push("what was booked is left")
    if (!hasRun && !isGood) wrong.push("nothing was done, and it cannot be gone on with")
    return {
      met: state.met,
      wrong: wrong.map((problem) => `${problem}: ${JSON.stringify(fault)} ${log.join()}; ${logs.join()}`)
    }
  })

describe("a run that resumes on a breaking store of resumptions, with", () => {
  for (const [name, form] of Object.entries(forms)) {
    for (const isApproved of [true, false]) {
      it.live(`${name}, ${isApproved ? "approved" : "refused"}`, () =>
        Effect.gen(function*() {
          const wrong: Array<string> = []
          let met = 0
          for (const [nth, kind] of kinds.entries()) {
            // Two of the kinds at each statement, which the seed chooses.
            for (let at = 1; at < 30; at++) {
              if (!isChosen(nth, at)) continue
              const played = yield* play(form, isApproved, { at, kind })
              if (!played.met) break
              met++
              wrong.push(...played.wrong)
            }
          }
          assert.deepStrictEqual(wrong, [])
          assert.isAbove(met, 6)
        }).pipe(Effect.provide(NodeSqliteClient.layer({ filename: ":memory:" }))), 30_000)
    }
  }
})
