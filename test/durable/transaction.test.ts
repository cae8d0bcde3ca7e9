/**
 * Tools that write to the database of their run in one transaction with the outcome of the call: executions that end at
 * each statement, and lost answers of statements, on each database.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Data, Deferred, type Duration, Effect, Exit, Layer, Logger, Schedule, Schema, Scope } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { type SqlAddress, sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"
import { type Hook, type Watch, watchedSql } from "../support/watchedSql.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

/** A server needs longer for each execution: there every so many-th moment is tested. With 1, each is. */
const everyMoment = Number(process.env["TEST_EVERY_MOMENT"] ?? 5)

class SoldOut extends Data.TaggedError("SoldOut") {}

const Seat = Schema.Struct({ run: Schema.String })

const sell = (run: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const [stock] = yield* sql<{ readonly left: number }>`UPDATE stock SET seats = seats - 1 RETURNING seats AS left`
    yield* sql`INSERT INTO sold (run) VALUES (${run})`
    return stock!.left
  })

/** Takes a seat: two statements, and the first attempt fails behind them. */
const Take = Tool.make("take", {
  parameters: Seat,
  success: Schema.Int,
  effects: "write",
  transaction: true,
  execute: ({ run }) =>
    Effect.gen(function*() {
      const left = yield* sell(run)
      const { attempt } = yield* ToolCall.ToolCall
      return attempt === 1 ? yield* new SoldOut() : left
    })
}).pipe(Tool.onError((call) => call.pipe(Recovery.retry({ times: 2, schedule: Schedule.forever }))))

type Seller = Tool.Tool<"take", typeof Seat, Schema.Top, never, SqlClient.SqlClient>

const seller = (take: unknown = Take) =>
  Durable.make(Agent.make("seller", { tools: [take as Seller], defaults: { onError: Recovery.keepGoing } }))

const model = ScriptedModel.layer(({ prompt }) => {
  const run = /run-\w+/.exec(JSON.stringify(prompt.content))?.[0] ?? ""
  return prompt.content.some(({ role }) => role === "assistant")
    ? ScriptedModel.text("done")
    : ScriptedModel.call("take", { run }, { id: "c1" })
})

/** A runner with a client of its own. */
const life = (address: SqlAddress, watch: Watch, options?: { poll?: Duration.Input; take?: unknown }) =>
  Durable.layer([seller(options?.take)], { lease: "1 minute", poll: options?.poll ?? "50 millis", grace: 0 }).pipe(
    Layer.provide(model),
    Layer.provideMerge(RunStore.layerSql({ create: false }).pipe(Layer.provideMerge(watchedSql(watch)))),
    Layer.provide(sqlLayer(address)),
    // A store that does not answer is logged, and here it often does not.
    Layer.provideMerge(Logger.layer([]))
  )

const quiet: Watch = { before: () => Effect.void, after: () => Effect.void }

const lost = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({ cause: new Error("The connection is lost") })
})

/** Stops all work behind the n-th moment: no statement answers any more, until the connections are closed. */
const mortal = (killAt: number) => {
  const isDead = Deferred.makeUnsafe<void>()
  const isBuried = Deferred.makeUnsafe<void>()
  const seen: Array<string> = []
  const pass = (sql: string) =>
    Effect.suspend(() => {
      seen.push(sql)
      if (seen.length === killAt) Deferred.doneUnsafe(isDead, Effect.void)
      return seen.length >= killAt ? Effect.andThen(Deferred.await(isBuried), Effect.fail(lost)) : Effect.void
    })
  return { watch: { before: pass, after: pass } satisfies Watch, isDead, isBuried, seen }
}

/** Sales of a run. */
const soldTo = (runId: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => Effect.map(sql`SELECT run FROM sold WHERE run = ${runId}`, (rows) => rows.length)
  )

/** Stored effects of a run, and the run's reports. */
const laws = (runId: string, about: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const store = yield* RunStore.RunStore
    const [all] = yield* sql<
      { readonly n: number }
    >`SELECT seats + (SELECT COUNT(DISTINCT run) FROM sold) AS n FROM stock`
    assert.deepStrictEqual([yield* soldTo(runId), Number(all?.n)], [1, 1000], about)
    const { steps } = yield* store.load({ runId, segment: 0 })
    assert.strictEqual(steps.filter(({ kind }) => kind === "child").length, 1, about)
    assert.strictEqual(steps.filter(({ kind }) => kind === "write").length, 0, about)
    const told = JSON.stringify(steps.filter(({ kind }) => kind === "call"))
    assert.notInclude(told, "outcome_unknown", about)
    const numbers = steps.flatMap(({ events, firstEvent }) => events.map((_, index) => firstEvent + index))
    assert.deepStrictEqual(numbers, numbers.map((_, index) => index), about)
  })

const within = async (open: (typeof supported)[number]["open"], test: (address: SqlAddress) => Promise<void>) => {
  const { address, close } = await open()
  const tables = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    for (const statement of RunStore.createTableSql().split(";\n")) if (statement !== "") yield* sql.unsafe(statement)
    yield* sql`CREATE TABLE sold (run VARCHAR(99))`
    yield* sql`CREATE TABLE stock (seats INTEGER)`
    yield* sql`INSERT INTO stock VALUES (1000)`
  })
  try {
    await Effect.runPromise(Effect.scoped(Effect.provide(tables, sqlLayer(address))))
    await test(address)
  } finally {
    await close()
  }
}

/** The model's result of the call. */
const reportOf = (runId: string) =>
  Effect.map(
    Effect.flatMap(RunStore.RunStore, (store) => store.load({ runId, segment: 0 })),
    ({ steps }) => JSON.stringify(steps.filter(({ kind }) => kind === "call"))
  )

describe("a tool that writes to the database of its run", () => {
  for (const { name, open } of supported) {
    it(
      `does it once, at whichever statement its process ends: ${name}`,
      () =>
        within(open, async (address) => {
          let statements = 0
          /** An execution that ends at the n-th moment, if it gets there. */
          const dying = (runId: string, killAt: number) =>
            Effect.gen(function*() {
              const { isBuried, isDead, seen, watch } = mortal(killAt)
              const scope = yield* Scope.make()
              const whole = Effect.gen(function*() {
                const context = yield* Scope.provide(Layer.build(life(address, watch, { poll: "1 minute" })), scope)
                yield* Effect.provideContext(seller().run(runId, runId), context)
              })
              const isKilled = yield* Effect.raceFirst(
                Effect.as(whole, false),
                Effect.as(Deferred.await(isDead), true)
              )
              // The connections of a killed process are closed: open transactions are rolled back.
              yield* Deferred.succeed(isBuried, undefined)
              yield* Scope.close(scope, Exit.void)
              return { isKilled, seen }
            })
          const goesOn = (runId: string, about: string) =>
            Effect.gen(function*() {
              const store = yield* RunStore.RunStore
              const there = yield* store.get(runId)
              // It holds the run for a minute, which need not be waited for.
              if (there?.status === "running") yield* store.settle(there, { status: "queued" })
              yield* seller().run(runId, runId)
              yield* laws(runId, about)
            }).pipe(Effect.provide(life(address, quiet)), Effect.scoped)
          const step = address.kind === "sqlite" ? 1 : everyMoment
          await Effect.runPromise(
            Effect.gen(function*() {
              for (let killAt = 1, isKilled = true; isKilled; killAt += step) {
                const runId = `run-${killAt}`
                const died = yield* dying(runId, killAt)
                isKilled = died.isKilled
                statements = died.seen.length
                yield* goesOn(runId, `killed at ${killAt}: ${died.seen.at(-1)}`)
              }
            })
          )
          assert.isAbove(statements, 40)
        }),
      120_000
    )

    it(`finds out whether a commit without an answer is there: ${name}`, () =>
      within(open, async (address) => {
        for (const when of ["before", "after"] as const) {
          let isInTransaction = false
          let commits = 0
          const fail: Hook = (sql, connection) =>
            Effect.suspend(() => {
              if (sql.includes("INSERT INTO sold")) isInTransaction = true
              if (sql !== "COMMIT" || !isInTransaction) return Effect.void
              isInTransaction = false
              if (++commits > 1) return Effect.void
              // With the connection its open transaction ends.
              const rolledBack = when === "before"
                ? connection.executeUnprepared("ROLLBACK", [], undefined)
                : Effect.void
              return Effect.andThen(rolledBack, Effect.fail(lost))
            })
          const runId = `run-${when}`
          await Effect.runPromise(
            Effect.gen(function*() {
              yield* seller().run(runId, runId)
              yield* laws(runId, when)
              // Stored effects are not repeated; missing ones are another attempt.
              assert.strictEqual(commits, when === "after" ? 1 : 2)
            }).pipe(Effect.provide(life(address, { ...quiet, [when]: fail })), Effect.scoped)
          )
        }
      }), 60_000)

    it(`has no effect for a run taken over by another process: ${name}`, () =>
      within(open, async (address) => {
        let taken = 0
        const Slow = Tool.make("take", {
          parameters: Seat,
          success: Schema.Int,
          effects: "write",
          transaction: true,
          execute: ({ run }) =>
            Effect.gen(function*() {
              const left = yield* sell(run)
              // Like after an expired lease: by the same connection, because SQLite lets no other write now.
              const sql = yield* SqlClient.SqlClient
              if (++taken === 1) yield* sql`UPDATE recourse_runs SET epoch = epoch + 1 WHERE run_id = ${run}`
              return left
            })
        })
        await Effect.runPromise(
          Effect.gen(function*() {
            const store = yield* RunStore.RunStore
            yield* seller(Slow).start("run-1", "run-1")
            const isLeft = Effect.map(store.get("run-1"), (run) => taken > 0 && run?.status === "running")
            yield* Effect.repeat(Effect.delay(isLeft, "10 millis"), { until: (isLeft) => isLeft })
            yield* Effect.repeat(Effect.delay(soldTo("run-1"), "10 millis"), { until: (n) => n === 0 })
            yield* store.settle((yield* store.get("run-1"))!, { status: "queued" })
            yield* seller(Slow).await("run-1")
            assert.deepStrictEqual([taken, yield* soldTo("run-1")], [2, 1])
          }).pipe(Effect.provide(life(address, quiet, { take: Slow })), Effect.scoped)
        )
      }), 60_000)

    it(`rolls back failures, defects and timeouts: ${name}`, () =>
      within(open, async (address) => {
        const begun = Deferred.makeUnsafe<void>()
        const Odd = Tool.make("take", {
          parameters: Seat,
          success: Schema.Int,
          effects: "write",
          transaction: true,
          timeout: "200 millis",
          execute: ({ run }) =>
            Effect.gen(function*() {
              const left = yield* sell(run)
              if (run === "run-fails") return yield* new SoldOut()
              if (run === "run-dies") return yield* Effect.die("a bug")
              if (run === "run-odd") return "not a number" as unknown as number
              yield* Deferred.succeed(begun, undefined)
              return run === "run-late" ? yield* Effect.never : left
            })
        })
        await Effect.runPromise(
          Effect.gen(function*() {
            for (const run of ["run-fails", "run-dies", "run-odd", "run-late"]) {
              yield* Effect.ignore(seller(Odd).run(run, run))
              assert.strictEqual(yield* soldTo(run), 0, run)
              assert.notInclude(yield* reportOf(run), "outcome_unknown", run)
            }
            assert.include(yield* reportOf("run-late"), "timeout")
          }).pipe(Effect.provide(life(address, quiet, { take: Odd })), Effect.scoped)
        )
      }), 60_000)

    it(`refuses a tool that is not rolled back with it: ${name}`, () =>
      within(open, async (address) => {
        const Note = Tool.make("note", { success: Schema.Void, effects: "write", execute: () => Effect.void })
        const byHand = (tool: typeof Note) =>
          Effect.provideService(tool.call, ToolCall.ToolCall, ToolCall.make({ id: "n1", arguments: {} }))
        const Mixed = Tool.make("take", {
          parameters: Seat,
          success: Schema.Int,
          effects: "write",
          transaction: true,
          execute: ({ run }) => Effect.andThen(byHand(Note), sell(run))
        })
        const Elsewhere = Tool.make("take", {
          parameters: Seat,
          success: Schema.Int,
          effects: "write",
          transaction: true,
          execute: ({ run }) => sell(run)
        })
        const failure = (take: unknown, sql: Layer.Layer<SqlClient.SqlClient, unknown>) => {
          const store = RunStore.layerSql({ create: false }).pipe(Layer.provide(sqlLayer(address)))
          const runners = Durable.layer([seller(take)], { poll: "50 millis" }).pipe(
            Layer.provide(model),
            Layer.provideMerge(store),
            Layer.provideMerge(sql)
          )
          return Effect.runPromise(
            Effect.gen(function*() {
              yield* Effect.ignore(seller(take).run("run-1", "run-1"))
              return yield* soldTo("run-1")
            }).pipe(Effect.provide(runners), Effect.scoped)
          )
        }
        assert.strictEqual(await failure(Mixed, sqlLayer(address)), 0)
        assert.strictEqual(await failure(Elsewhere, sqlLayer(address)), 0)
      }), 60_000)
  }
})
