/** Times of a server whose wall clock is set: refusals end, and the index of runs is refreshed. */
import { assert, describe, it } from "@effect/vitest"
import type { RunsService } from "@recourse/core/Runs"
import { VirtualTime } from "@recourse/testing"
import { Duration, Effect, Option } from "effect"

const inside = (file: string) => import(new URL(`../../src/internal/${file}.ts`, import.meta.url).href)

interface Limits {
  readonly authenticated: (request: unknown, authenticate: Effect.Effect<unknown, unknown>) => Effect.Effect<unknown, {
    readonly _tag: string
  }>
}

const { limitsOf } = await inside("http/limits") as {
  readonly limitsOf: (options: unknown) => Effect.Effect<Limits>
}
const { Indexer } = await inside("index/indexer") as {
  readonly Indexer: new(runs: RunsService, index: unknown) => { readonly refresh: Effect.Effect<void> }
}

const back = { wall: (now: number) => now + (now >= 10_000 ? -3_600_000 : 0) }

describe("a wall clock that is set back", () => {
  it.live("refuses an address for the window only", () =>
    Effect.gen(function*() {
      const { exit } = yield* VirtualTime.run(
        Effect.gen(function*() {
          const { authenticated } = yield* limitsOf({ wrongCredentials: { limit: 1, window: "1 minute" } })
          const request = { remoteAddress: Option.some("1.2.3.4") }
          const guess = Effect.flip(authenticated(request, Effect.fail({ _tag: "Unauthorized" })))
          const right = Effect.match(authenticated(request, Effect.succeed("ada")), {
            onFailure: ({ _tag }) => _tag,
            onSuccess: () => "ada"
          })
          yield* Effect.sleep("5 seconds")
          yield* guess
          yield* guess
          const refused = yield* right
          yield* Effect.sleep("2 minutes")
          return [refused, yield* right]
        }),
        back
      )
      assert.deepStrictEqual(yield* exit, ["TooManyRequests", "ada"])
    }))

  it.live("leaves the index of runs fresh", () =>
    Effect.gen(function*() {
      let lists = 0
      const runs = {
        list: () => Effect.sync(() => (lists++, []))
      } as unknown as RunsService
      const index = { summaries: () => Effect.succeed(new Map()), unfinished: Effect.succeed([]) }
      const { exit } = yield* VirtualTime.run(
        Effect.gen(function*() {
          const indexer = new Indexer(runs, index)
          yield* Effect.sleep("9 seconds")
          yield* indexer.refresh
          const before = lists
          yield* Effect.sleep(Duration.seconds(2))
          yield* indexer.refresh
          return [before, lists]
        }),
        back
      )
      const [before, after] = yield* exit
      assert.isAtLeast(before!, 1)
      assert.isAbove(after!, before!)
    }))
})
