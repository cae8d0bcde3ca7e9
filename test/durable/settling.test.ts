/** The end of a durable run: its number of statements, and its state when one of them fails or loses its answer. */
import { assert, describe, it } from "@effect/vitest"
import { Agent } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Logger, Schema } from "effect"
import { SqlError } from "effect/sql"
import { type SqlAddress, sqlLayer } from "../support/connections.ts"
import { forLeases } from "../support/forLeases.ts"
import { sqlDatabases } from "../support/servers.ts"
import { type Hook, watchedSql } from "../support/watchedSql.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

const lost = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({ cause: new Error("The connection is lost") })
})

/** Statements that write: the others only read. */
const writes = (sql: string): boolean => /INSERT|UPDATE/.test(sql)

/** Claims and renewals come when they come. */
const isLeasing = (sql: string): boolean => sql.trim().startsWith("UPDATE") && sql.includes("leased_until = CAST")

/** A run whose model answers at once, with one moment at which the store fails. */
const play = (
  address: SqlAddress,
  lease: number,
  runId: string,
  fails: { readonly at: number; readonly behind: boolean } | undefined
) =>
  Effect.gen(function*() {
    const statements: Array<string> = []
    let asked = 0
    const hook = (isBehind: boolean): Hook => (sql) =>
      Effect.suspend(() => {
        if (!writes(sql) || isLeasing(sql)) return Effect.void
        if (!isBehind) statements.push(sql.trim())
        return statements.length === fails?.at && isBehind === fails.behind ? Effect.fail(lost) : Effect.void
      })
    const clerk = Durable.make(Agent.make("clerk", { output: Schema.String }))
    const store = RunStore.layerSql({ create: false }).pipe(
      Layer.provide(watchedSql({ before: hook(false), after: hook(true) }))
    )
    const model = ScriptedModel.layer(() => {
      asked++
      return ScriptedModel.text("Hello.")
    })
    const told = yield* Effect.gen(function*() {
      // A starter without an answer starts the run again.
      const output = yield* Effect.retry(clerk.run(runId, "Hi"), { times: 3 })
      const { events, steps } = yield* Effect.flatMap(RunStore.RunStore, (store) =>
        Effect.all({ steps: store.load({ runId, segment: 0 }), events: store.events(runId, 0) }))
      return { output, steps: steps.steps, events }
    }).pipe(
      Effect.provide(
        Durable.layer([clerk], { poll: "10 millis", lease }).pipe(
          Layer.provideMerge(store),
          Layer.provide(model)
        )
      ),
      Effect.provide(sqlLayer(address)),
      Effect.provide(Logger.layer([]))
    )
    return { ...told, asked, statements }
  })

describe("the end of a durable run", () => {
  for (const { name, open } of supported) {
    it(`comes once, with the last answer, for any statement fault: ${name}`, async () => {
      const { address, close } = await open()
      try {
        await Effect.runPromise(
          Effect.scoped(Layer.build(RunStore.layerSql().pipe(Layer.provide(sqlLayer(address)))))
        )
        const whole = await Effect.runPromise(play(address, 10_000, "whole", undefined))
        // A run of one answer begins with one statement and ends with one.
        const ends = name.startsWith("PostgreSQL") ? 1 : 2
        assert.strictEqual(whole.statements.length, 1 + ends, whole.statements.join("\n"))
        for (let at = 1; at <= whole.statements.length; at++) {
          for (const behind of [false, true]) {
            const about = `${behind ? "behind" : "before"} statement ${at}`
            await Effect.runPromise(forLeases((lease, attempt) =>
              Effect.map(
                play(address, lease, `${about}, ${attempt}`, { at, behind }),
                ({ asked, events, output, steps }) => {
                  assert.strictEqual(output, "Hello.", about)
                  assert.strictEqual(asked, 1, about)
                  assert.deepStrictEqual(steps.map(({ kind }) => kind), ["model", "end"], about)
                  assert.deepStrictEqual(events.map(({ number }) => number), events.map((_, index) => index), about)
                }
              )
            ))
          }
        }
      } finally {
        await close()
      }
    })
  }
})
