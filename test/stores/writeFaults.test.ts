/** Random programs of writes over a ledger in SQLite of which statements fail, lose their answer or hang. */
import { assert, describe, it } from "@effect/vitest"
import { IdempotencyLedger } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"
import { Effect, Layer, Logger } from "effect"
import { SqlError } from "effect/sql"
import { random } from "../../packages/core/test/support/kit.ts"
import { draw, play, problems, type Store } from "../../packages/core/test/support/writePrograms.ts"
import { watchedSql } from "../support/watchedSql.ts"

const programs = Number(process.env["RECOURSE_PROGRAMS"] ?? 50)
const firstSeed = Number(process.env["RECOURSE_SEED"] ?? 1)

const kinds = ["fails", "lost", "hangs"] as const

interface Fault {
  readonly at: number
  readonly kind: (typeof kinds)[number]
}

const reset = Effect.fail(new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: "drawn" }) }))

/** A ledger with random faults in the run's statements, and the number of reached ones. */
const faultyLedger = (faults: ReadonlyArray<Fault>): Store & { readonly met: () => number } => {
  let statements = 0
  let met = 0
  let isRun = false
  const at = (kind: Fault["kind"]) => faults.some((fault) => fault.at === statements && fault.kind === kind)
  const meet = <A, E>(effect: Effect.Effect<A, E>) => Effect.suspend(() => (met++, effect))
  const sql = watchedSql({
    before: () =>
      Effect.suspend(() => {
        if (!isRun) return Effect.void
        statements++
        return at("fails") ? meet(reset) : at("hangs") ? meet(Effect.never) : Effect.void
      }),
    after: () => Effect.suspend(() => isRun && at("lost") ? meet(reset) : Effect.void)
  }).pipe(Layer.provide(NodeSqliteClient.layer({ filename: ":memory:" })))
  return {
    ledger: IdempotencyLedger.layerSql().pipe(
      Layer.provide(sql),
      Layer.tap(() => Effect.sync(() => isRun = true)),
      Layer.orDie
    ),
    settled: Effect.sync(() => void (isRun = false)),
    met: () => met
  }
}

describe("a write over a ledger in SQLite that fails", () => {
  it.live(
    `is reported like the service's records, in ${programs} programs`,
    () =>
      Effect.gen(function*() {
        const wrong: Array<string> = []
        let met = 0
        let unknown = 0
        for (let seed = firstSeed; seed < firstSeed + programs && wrong.length < 20; seed++) {
          const drawn = draw(seed)
          const plan = drawn.key === "none" ? { ...drawn, key: "arguments" as const } : drawn
          const next = random(seed * 40503)
          const faults = Array.from({ length: 1 + Math.floor(next() * 3) }, (): Fault => ({
            at: 1 + Math.floor(next() * 6),
            kind: kinds[Math.floor(next() * 3)]!
          }))
          const store = faultyLedger(faults)
          const outcome = yield* play(plan, store)
          met += store.met()
          // A key that is not freed is one lost write: a silent store may cost that, and no more.
          const found = problems(plan, outcome).filter((problem) =>
            store.met() === 0 || problem !== "the key of nothing is taken"
          )
          if (outcome.results.some(({ result }) => result?.code === "outcome_unknown")) unknown++
          if (found.length > 0) wrong.push(`${found.join("; ")} ${JSON.stringify({ seed, faults, ...plan })}`)
        }
        assert.deepStrictEqual(wrong, [])
        assert.isAbove(met, programs / 3)
        assert.isAbove(unknown, 0)
      }).pipe(Effect.provide(Logger.layer([]))),
    240_000
  )
})
