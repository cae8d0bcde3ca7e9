/**
 * A resumed run on stores of which one statement fails, loses its answer or hangs: each statement of the resumption and
 * of the ledger in turn. The approved write is done once or reported as unknown, and the resuming caller learns of an
 * ineffective decision.
 */
import {
  Agent,
  AgentEvent,
  Approval,
  ErrorProjection,
  IdempotencyLedger,
  Recovery,
  StoreTimeout,
  Tool
} from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Logger, Redacted, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"
import { watchedSql } from "../support/watchedSql.ts"

const kinds = ["fails", "lost", "hangs", "done and hangs"] as const

interface Fault {
  readonly at: number
  readonly kind: (typeof kinds)[number]
}

interface Plan {
  readonly isKeyed: boolean
  readonly decision: "approve" | "reject" | "respond"
  readonly answer: "ok" | "lost" | "refused"
}

const plans: ReadonlyArray<Plan> = [true, false].flatMap((isKeyed) => [
  { isKeyed, decision: "approve", answer: "ok" } as const,
  { isKeyed, decision: "approve", answer: "lost" } as const,
  ...(isKeyed ? [{ isKeyed, decision: "approve", answer: "refused" } as const] : []),
  { isKeyed, decision: "reject", answer: "ok" } as const,
  { isKeyed, decision: "respond", answer: "ok" } as const
])

/** The service reports that it did not execute. */
class Refused extends Schema.TaggedError<Refused>()(
  "Refused",
  {},
  ErrorProjection.declare({ code: "upstream_error", outcome: "not_done" })
) {}

const reset = Effect.fail(new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: "drawn" }) }))

/** A client of which one statement of the run has the fault. */
const faultySql = (fault: Fault) => {
  const state = { isRun: false, met: false, statements: 0 }
  const at = (...of: ReadonlyArray<Fault["kind"]>) =>
    state.isRun && state.statements === fault.at && of.includes(fault.kind)
  const meet = <A, E>(effect: Effect.Effect<A, E>) => Effect.suspend(() => (state.met = true, effect))
  const layer = watchedSql({
    before: () =>
      Effect.suspend(() => {
        if (state.isRun) state.statements++
        return at("fails") ? meet(reset) : at("hangs") ? meet(Effect.never) : Effect.void
      }),
    after: () =>
      Effect.suspend(() => at("lost") ? meet(reset) : at("done and hangs") ? meet(Effect.never) : Effect.void)
  })
  return { state, layer }
}

const reasonOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit)
    ? "ended"
    : exit.cause.reasons.map((reason) =>
      Cause.isFailReason(reason) ? (reason.error as { readonly reason?: string }).reason ?? "failed" : reason._tag
    ).join()

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

let orders = 0

/** Starts, waits, resumes with the fault, and resumes once more after the lease: the events, and their faults. */
const play = (plan: Plan, fault: Fault) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const order = ++orders
    let paid = 0
    const execute = () =>
      Effect.suspend((): Effect.Effect<string, string | Refused> => {
        if (plan.answer === "refused") return Effect.fail(new Refused())
        paid++
        return plan.answer === "ok" ? Effect.succeed("paid") : Effect.fail("connection reset")
      })
    const options = {
      parameters: Schema.Struct({ order: Schema.Int }),
      success: Schema.String,
      needsApproval: true,
      effects: "write",
      failure: Schema.Union([Schema.String, Refused]),
      execute
    } as const
    const tool = plan.isKeyed
      ? Tool.make("pay", {
        ...options,
        idempotency: { rejected: ["Refused"], key: ({ order }: { readonly order: number }) => `order ${order}` }
      })
      : Tool.make("pay", options)
    const agent = Agent.make("clerk", { tools: [tool], defaults: { onError: Recovery.keepGoing } })
    const told: Array<string> = []
    const stores = Layer.fresh(Layer.mergeAll(
      Approval.layerResumptionsSql(),
      IdempotencyLedger.layerSql(),
      AgentEvent.listen((event) =>
        Effect.sync(() =>
          void (event._tag === "ToolResult" && told.push(event.isFailure ? event.code ?? "failed" : "done"))
        )
      )
    ))
    const model = (turn: ScriptedModel.Turn) => ScriptedModel.layer([turn])
    const outcome = yield* agent.start("Pay").pipe(
      Effect.provide([stores, model(ScriptedModel.call("pay", { order }))])
    )
    if (outcome._tag !== "Paused") return assert.fail("it does not wait")
    const { pending: [call], snapshot } = outcome
    const decision = plan.decision === "approve"
      ? Approval.approve(call!)
      : plan.decision === "reject"
      ? Approval.reject(call!, "no")
      : Approval.respond(call!, "paid by hand")
    const resumed = agent.resume(snapshot, [decision])

    const { layer, state } = faultySql(fault)
    const ready = Effect.sync(() => {
      state.isRun = true
    })
    const first = yield* Effect.andThen(ready, Effect.exit(resumed)).pipe(
      Effect.provide([
        Layer.provide(stores, layer),
        model(ScriptedModel.text("done")),
        StoreTimeout.layer("20 millis")
      ])
    )
    const toldFirst = told.splice(0)
    const paidFirst = paid
    const again = Effect.exit(resumed).pipe(Effect.provide([stores, model(ScriptedModel.text("done"))]))
    // Its process is still known to be at work, and then no longer.
    yield* sql`UPDATE recourse_resumptions SET leased_until = 0 WHERE ended_at IS NULL`
    yield* sql`UPDATE recourse_idempotency SET leased_until = 0 WHERE leased_until IS NOT NULL`
    const second = yield* again
    const toldSecond = told.splice(0)
    const third = yield* again

    const wrong: Array<string> = []
    const all = [...toldFirst, ...toldSecond]
    if (paid > (plan.decision === "approve" ? 1 : 0)) wrong.push(`paid ${paid} times`)
    for (const [index, said] of [toldFirst, toldSecond].entries()) {
      for (const code of said) {
        const isPaid = (index === 0 ? paidFirst : paid) === 1
        if (plan.decision !== "approve") continue
        if (code === "done" && !isPaid) wrong.push("told as done, and nothing was done")
        if (code !== "done" && code !== "outcome_unknown" && isPaid) wrong.push(`paid, and told as ${code}`)
      }
    }
    if (Exit.isSuccess(first) && toldFirst.length !== 1) wrong.push("ended without a word")
    // Whoever decided has an answer: a run that ended, or the reason why it did not, and then the write is not done.
    if (paid === 1 && all.length === 0) wrong.push("paid, and nobody is told")
    if (Exit.isFailure(first) && paidFirst === 0 && !["ended", "abandoned"].includes(reasonOf(second))) {
      wrong.push(`nothing was done, and it cannot be resumed: ${reasonOf(second)}`)
    }
    if (reasonOf(second) === "abandoned" && plan.decision !== "approve") wrong.push("abandoned, and there is no write")
    if (reasonOf(second) === "abandoned" && plan.isKeyed) wrong.push("abandoned, though the ledger knows")
    if (Exit.isSuccess(second) && reasonOf(third) !== "used") wrong.push(`used twice: ${reasonOf(third)}`)
    return {
      met: state.met,
      wrong: wrong.map((problem) =>
        `${problem}; ${JSON.stringify({ ...plan, ...fault, paidFirst, paid, toldFirst, toldSecond })} ${
          [first, second, third].map(reasonOf).join(", ")
        }`
      )
    }
  })

/** Each run takes a third of a second: each so many-th statement is looked at, another one for each kind. With 1, each is. */
const everyMoment = Number(process.env["TEST_EVERY_MOMENT"] ?? 5)

for (const database of sqlDatabases) {
  const isFirst = database.name.startsWith("SQLite")
  // The watched client speaks the dialects of these two.
  if (!isFirst && !database.name.startsWith("PostgreSQL")) continue
  describe(`a resumption on ${database.name}`, () => {
    let place: Awaited<ReturnType<typeof database.open>>
    beforeAll(async () => {
      place = await database.open()
    }, 30_000)
    afterAll(() => place.close(), 30_000)

    it.live(
      "does an approved write once, or unknown, for any statement fault",
      () =>
        Effect.gen(function*() {
          const wrong: Array<string> = []
          let met = 0
          let first = 0
          for (const plan of plans) {
            for (const kind of kinds) {
              // Statements that do not reach the database, and a decision without a write, are the same on each.
              if (!isFirst && (plan.decision !== "approve" || kind === "fails" || kind === "hangs")) continue
              for (let at = 1 + first++ % everyMoment; at < 30; at += everyMoment) {
                const played = yield* play(plan, { at, kind })
                if (!played.met) break
                met++
                wrong.push(...played.wrong)
              }
            }
          }
          assert.deepStrictEqual(wrong, [])
          assert.isAbove(met, (isFirst ? 70 : 20) / everyMoment)
        }).pipe(Effect.provide(Layer.mergeAll(
          key,
          Logger.layer([]),
          Layer.suspend(() => sqlLayer(place.address))
        ))),
      60_000
    )
  })
}
