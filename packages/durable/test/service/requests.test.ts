/** Impossible requests to durable runs, which are refused by name before any row is written. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, ConfigurationError } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { Duration, Effect, Exit } from "effect"
import { badRequests } from "../support/badRequests.ts"
import { localStores } from "../support/localStores.ts"

for (const [name, store] of Object.entries(localStores)) {
  describe(`runs in ${name}`, () => {
    it.live("are refused impossible requests", () => badRequests.pipe(Effect.provide(store)), 30_000)

    it.live("keep all ended ones without a retention", () =>
      Effect.gen(function*() {
        for (const keepFor of [Number.NaN, "5 bananas" as never, -1, {} as never]) {
          const exit = yield* Effect.exit(RunStore.purge({ keepFor }))
          assert.isTrue(Exit.isFailure(exit) && Exit.hasDies(exit), String(keepFor))
        }
        assert.strictEqual(yield* RunStore.purge({ keepFor: Duration.infinity }), 0)
      }).pipe(Effect.provide(store)))
  })
}

describe("a fault in a program is reported at its definition", () => {
  const echo = Agent.fromFunction("echo", (text: string) => Effect.succeed(text))
  const long = "x".repeat(256)
  const refused = (make: () => unknown, says: RegExp) => {
    try {
      make()
    } catch (error) {
      assert.instanceOf(error, ConfigurationError.ConfigurationError)
      return assert.match((error as Error).message, says)
    }
    assert.fail(`it is not refused: ${String(says)}`)
  }

  it("reports a fault in an agent at its definition", () => {
    for (const odd of ["a\0b", "\ud800", long]) {
      refused(() => Durable.make(Agent.fromFunction(odd, (text: string) => Effect.succeed(text))), /name/)
      refused(() => Durable.make(echo, { version: odd }), /version/)
      refused(() => Durable.make(echo, { approvals: { people: [{ to: odd }] } }), /person/)
    }
    const former = { version: "2", older: { "1": "continue" } } as const
    refused(() => Durable.make(echo, { ...former }), /no option "older".*previousVersions/)
    for (const after of [Number.NaN, -1, Duration.infinity, "5 bananas" as never]) {
      refused(() => Durable.make(echo, { approvals: { people: [{ to: "ada", after }] } }), /after/)
    }
    for (const concurrency of [0, -1, Number.NaN]) {
      refused(() => Durable.make(echo, { queue: { concurrency } }), /queue/)
    }
  })

  it("reports a fault in a runner at its definition", () => {
    for (const time of [0, -1, Number.NaN, Infinity, "5 bananas" as never]) {
      refused(() => Durable.layer([Durable.make(echo)], { poll: time }), /poll/)
      refused(() => Durable.layerClient([Durable.make(echo)], { poll: time }), /poll/)
      refused(() => Durable.layer([Durable.make(echo)], { lease: time }), /lease/)
    }
    for (const grace of [-1, Number.NaN, "5 bananas" as never]) {
      refused(() => Durable.layer([Durable.make(echo)], { grace }), /grace/)
    }
    for (const concurrency of [0, -1, Number.NaN, 1.5]) {
      refused(() => Durable.layer([Durable.make(echo)], { concurrency }), /concurrency/)
    }
  })
})
