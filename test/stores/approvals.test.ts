/** Resumptions and audit on each database. */
import { Agent, Approval, Audit, IdempotencyLedger, Policy, Recovery, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { sqlLayer } from "../support/connections.ts"
import { forLeases } from "../support/forLeases.ts"
import { sqlDatabases } from "../support/servers.ts"

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

/** A write that waits for an approval. Its first execution in a test may hang, as in a process that then dies. */
const paying = (isKeyed: boolean, hangs: boolean, attempt = "first") => {
  const state = { paid: 0 }
  const execute = () => Effect.suspend(() => (state.paid++, hangs ? Effect.never : Effect.succeed("paid")))
  const options = {
    parameters: Schema.Struct({ order: Schema.Int }),
    success: Schema.String,
    needsApproval: true,
    effects: "write",
    execute
  } as const
  const tool = isKeyed
    ? Tool.make("pay", {
      ...options,
      idempotency: { key: ({ order }: { readonly order: number }) => `order ${order} ${attempt}` }
    })
    : Tool.make("pay", options)
  return { state, agent: Agent.make("clerk", { tools: [tool], defaults: { onError: Recovery.standard } }) }
}

const model = (...turns: ReadonlyArray<ScriptedModel.Turn>) => Effect.provide(ScriptedModel.layer(turns))
const asks = model(ScriptedModel.call("pay", { order: 7 }))
const answers = model(ScriptedModel.text("done"))

const failure = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit)
    ? exit.cause.reasons.find(Cause.isFailReason)?.error as { readonly reason?: string; readonly freeAt?: number }
    : undefined

for (const database of sqlDatabases) {
  describe(`on ${database.name}`, () => {
    let place: Awaited<ReturnType<typeof database.open>>
    beforeAll(async () => {
      place = await database.open()
    }, 30_000)
    afterAll(() => place.close(), 30_000)
    const live = (
      name: string,
      test: () => Effect.Effect<unknown, unknown, SqlClient.SqlClient | Approval.SnapshotKey>
    ) =>
      it.live(
        name,
        () => Effect.provide(Effect.suspend(test), Layer.merge(key, Layer.suspend(() => sqlLayer(place.address)))),
        30_000
      )
    /** State of another process: only the same database. */
    const process = (lease: number) =>
      Layer.fresh(Layer.mergeAll(
        Approval.layerResumptionsSql({ lease }),
        IdempotencyLedger.layerSql({ lease })
      ))
    const paused = (agent: ReturnType<typeof paying>["agent"], lease = 6000) =>
      Effect.map(agent.start("Pay").pipe(asks, Effect.provide(process(lease))), (outcome) => {
        assert.strictEqual(outcome._tag, "Paused")
        return outcome as Approval.Paused
      })

    live("one of several processes resumes a snapshot", () =>
      forLeases((lease) =>
        Effect.gen(function*() {
          const { agent, state } = paying(false, false)
          const { pending, snapshot } = yield* paused(agent, lease)
          const resume = Effect.exit(
            agent.resume(snapshot, [Approval.approve(pending[0]!)]).pipe(answers, Effect.provide(process(lease)))
          )
          const exits = yield* Effect.all([resume, resume, resume], { concurrency: "unbounded" })
          assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
          // A late one meets the claim of the first, or its end.
          const reasons = exits.flatMap((exit) => failure(exit)?.reason ?? [])
          assert.strictEqual(reasons.filter((reason) => reason === "used" || reason === "claimed").length, 2)
          assert.strictEqual(state.paid, 1)
          yield* Effect.sleep(lease + 100)
          // It has ended: it is not taken over.
          assert.strictEqual(failure(yield* resume)?.reason, "used")
        })
      ))

    for (const isKeyed of [true, false]) {
      live(
        `a resumption that was cut off is taken over, and runs no write twice (${isKeyed ? "keyed" : "no key"})`,
        () =>
          forLeases((lease, attempt) =>
            Effect.gen(function*() {
              const hanging = paying(isKeyed, true, attempt)
              const { pending, snapshot } = yield* paused(hanging.agent, lease)
              const resumed = hanging.agent.resume(snapshot, [Approval.approve(pending[0]!)]).pipe(
                answers,
                Effect.provide(process(lease))
              )
              const dying = yield* Effect.forkChild(resumed)
              while (hanging.state.paid === 0) {
                assert.isUndefined(dying.pollUnsafe(), "the resumption ended before it paid")
                yield* Effect.sleep("10 millis")
              }
              // While it is active, no other process resumes it, also after its lease.
              yield* Effect.sleep(lease + 200)
              const again = paying(isKeyed, false, attempt)
              const resume = (decision: Approval.Decision) =>
                again.agent.resume(snapshot, [decision]).pipe(answers, Effect.provide(process(lease)), Effect.exit)
              const refused = failure(yield* resume(Approval.approve(pending[0]!)))
              assert.strictEqual(refused?.reason, "claimed")
              assert.closeTo(refused?.freeAt ?? 0, Date.now() + lease / 2, lease)
              yield* Fiber.interrupt(dying)

              const approved = yield* resume(Approval.approve(pending[0]!))
              assert.strictEqual(again.state.paid, 0)
              if (isKeyed) {
                // The model reads that the outcome is unknown.
                assert.isTrue(Exit.isSuccess(approved))
                return
              }
              assert.strictEqual(failure(approved)?.reason, "abandoned")
              const responded = yield* resume(Approval.respond(pending[0]!, "paid by hand"))
              assert.isTrue(Exit.isSuccess(responded))
              assert.strictEqual(again.state.paid, 0)
            })
          )
      )
    }

    live(
      "nothing is resumed within a transaction that may be rolled back, and no record is written there",
      () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const { agent, state } = paying(false, false)
          const { pending, snapshot } = yield* paused(agent)
          const layers = yield* Layer.build(Layer.mergeAll(
            Approval.layerResumptionsSql({ lease: 300 }),
            IdempotencyLedger.layerSql(),
            Audit.layerSql({ table: "within" })
          ))
          const within = agent.resume(snapshot, [Approval.approve(pending[0]!)]).pipe(
            answers,
            sql.withTransaction,
            Effect.provideContext(layers)
          )
          const exit = yield* Effect.exit(within)
          assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
          assert.strictEqual(state.paid, 0)
          const closed = Agent.make("clerk", {
            tools: [Tool.make("pay", { effects: "write", execute: () => Effect.void })],
            policies: [Policy.make("closed", () => Policy.deny("weekend"))],
            defaults: { onError: Recovery.standard }
          })
          const audited = yield* Effect.exit(
            closed.run("Pay").pipe(
              model(ScriptedModel.call("pay", {}), ScriptedModel.text("no")),
              sql.withTransaction,
              Effect.provideContext(layers)
            )
          )
          assert.isTrue(Exit.isFailure(audited) && Cause.hasDies(audited.cause))
          assert.deepStrictEqual(yield* sql`SELECT * FROM within`, [])
        }).pipe(Effect.scoped)
    )

    live("records of resumptions are purged when they are old", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* Layer.build(Approval.layerResumptionsSql({ table: "old" }))
        const row = (snapshot_id: string, days: number) => ({
          snapshot_id,
          claim: "c",
          claimed_at: Date.now() - days * 86_400_000,
          leased_until: 0
        })
        yield* sql`INSERT INTO old ${sql.insert([row("new", 1), row("old", 100)])}`
        assert.strictEqual(yield* Approval.purgeResumptionsSql({ table: "old" }), 1)
        assert.deepStrictEqual(yield* sql`SELECT snapshot_id FROM old`.values, [["new"]])
      }).pipe(Effect.scoped))

    live("the audit has a row for each decision", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const closed = Agent.make("clerk", {
          tools: [Tool.make("pay", { effects: "write", execute: () => Effect.void })],
          policies: [Policy.make("closed", () => Policy.deny("weekend"))],
          defaults: { onError: Recovery.standard }
        })
        for (const _ of [1, 2]) {
          yield* closed.run("Pay").pipe(
            model(ScriptedModel.call("pay", {}), ScriptedModel.text("no")),
            Effect.provide(Layer.fresh(Audit.layerSql({ table: "audited" })))
          )
        }
        const rows = yield* sql`SELECT tool, decision, decided_by, security FROM audited`.values
        assert.deepStrictEqual(rows.map((row) => row.map(String)), [
          ["pay", "denied", "closed", "0"],
          ["pay", "denied", "closed", "0"]
        ])
      }))
  })
}
