/** A possible write is never reported as not done: random programs of writes, judged by the service's records. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { operationsBetween } from "../support/operations.ts"
import { draw, keys, type Plan, play, problems } from "../support/writePrograms.ts"

/** Number of random programs, and the seed of the first: `RECOURSE_PROGRAMS=10000` for more. */
const env = (globalThis as { readonly process?: { readonly env: Record<string, string | undefined> } }).process?.env
const programs = Number(env?.["RECOURSE_PROGRAMS"] ?? 100)
const firstSeed = Number(env?.["RECOURSE_SEED"] ?? 1)

describe("a write", () => {
  it.live(
    `is reported like the service's records, in ${programs} programs`,
    () =>
      Effect.gen(function*() {
        const wrong: Array<string> = []
        for (let seed = firstSeed; seed < firstSeed + programs && wrong.length < 20; seed++) {
          const plan = draw(seed)
          const found = problems(plan, yield* play(plan))
          if (found.length > 0) wrong.push(`${found.join("; ")} ${JSON.stringify({ seed, ...plan })}`)
        }
        assert.deepStrictEqual(wrong, [])
      }),
    240_000
  )

  it.live("raced with itself has no replacement during a possible payment", () =>
    Effect.gen(function*() {
      for (const key of ["none", "arguments"] as const) {
        const plan = { ...draw(12_905), key }
        assert.deepStrictEqual(problems(plan, yield* play(plan)), [], key)
      }
    }))

  it.live(
    "is reported like the service's records, interrupted anywhere",
    () =>
      Effect.gen(function*() {
        const wrong: Array<string> = []
        for (const key of keys) {
          const plan: Plan = {
            key,
            timeout: true,
            answers: ["lostAfter", "slow"],
            recovery: ["retry"],
            agents: "standard",
            nested: "undeclared",
            sibling: "none",
            deadline: undefined,
            interruptAt: undefined,
            order: 1
          }
          const { operations } = yield* play(plan)
          for (const interruptAt of operationsBetween(1, operations + 1, 5)) {
            const found = problems(plan, yield* play({ ...plan, interruptAt }))
            if (found.length > 0) wrong.push(`${key} at ${interruptAt}: ${found.join("; ")}`)
          }
        }
        assert.deepStrictEqual(wrong, [])
      }),
    240_000
  )
})
