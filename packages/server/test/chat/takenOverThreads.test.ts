/** Threads of runs whose server died: another server executes the run to its end, and has the thread from then on. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Context, Effect, Exit } from "effect"
import { VirtualTime } from "@recourse/testing"
import {
  key,
  laws,
  message,
  type OnBusy,
  outcomeOf,
  over,
  say,
  type Served,
  server,
  settled,
  type Shared,
  shared,
  threadOf,
  until
} from "../support/servers.ts"

const books = ({ chats, runs }: Served) =>
  Effect.gen(function*() {
    const { runId } = yield* chats.send(message("m1", "book"))
    yield* until(runs, runId, over)
  })

const approves = ({ chats, runs }: Served) =>
  Effect.gen(function*() {
    const { runId } = yield* chats.send(message("m1", "pay"))
    const { pending } = yield* until(runs, runId, ["waiting"])
    yield* chats.decide(
      { ...key, by: "ada" },
      pending.map(({ callId }) => [{ runId, segment: 0, callId }, { decision: "approve" }] as const)
    )
    yield* until(runs, runId, over)
  })

/** Kills a server between the write of the run and its end, and starts the next one at once. */
const failovers = Effect.fnUntraced(function*(
  use: (served: Served) => Effect.Effect<unknown, unknown>,
  write: string,
  next: (served: Served, all: Shared) => Effect.Effect<void, unknown>,
  onBusy?: OnBusy
) {
  const isKilled = (killAt: number) =>
    Effect.gen(function*() {
      const all = shared()
      const { elapsed } = yield* VirtualTime.run(server(all, use), { killAt })
      return { all, elapsed, hasWritten: all.log.includes(write) }
    })
  const { operations } = yield* VirtualTime.run(server(shared(), use))
  let from = 1
  for (let to = operations; from < to;) {
    const middle = Math.floor((from + to) / 2)
    if ((yield* isKilled(middle)).hasWritten) to = middle
    else from = middle + 1
  }
  const { all, elapsed } = yield* isKilled(from)
  const { exit } = yield* VirtualTime.run(server(all, (served) => next(served, all), onBusy), {
    startAt: elapsed,
    identity: 1
  })
  if (Exit.isFailure(exit)) assert.fail(outcomeOf(exit))
})

describe("a thread whose server died, when another server has ended the run", () => {
  for (const [name, use, write] of [["a message", books, "book"], ["an approval", approves, "pay"]] as const) {
    for (const onBusy of ["refuse", "queue", "interrupt"] as const) {
      it.live(`accepts the next message before the lease ends: ${name}, ${onBusy}`, () =>
        failovers(use, write, (served, all) =>
          Effect.gen(function*() {
            yield* settled(served)
            assert.strictEqual((yield* threadOf(served))[0], "busy")
            assert.strictEqual(yield* say(served, "m2", "hi"), "ok")
            laws(all, yield* threadOf(served), name)
          }), onBusy))
    }

    it.live(`is free when its messages are read: ${name}`, () =>
      failovers(use, write, (served) =>
        Effect.gen(function*() {
          yield* settled(served)
          yield* served.chats.adopt(key)
          assert.strictEqual((yield* threadOf(served))[0], "free")
        })))
  }
})

/** A server whose connection to the threads is slow when a turn ends. */
const slow = (all: Shared): Shared => {
  const store = Context.get(all.stores, Conversation.Conversations)
  const append: typeof store.append = (options) =>
    options.requiredClaim === undefined ? store.append(options) : Effect.delay(store.append(options), "300 millis")
  return { ...all, stores: Context.add(all.stores, Conversation.Conversations, { ...store, append }) }
}

describe("two servers of which one stores the end of a run", () => {
  it.live("have its answer once, if a message reaches the other meanwhile", () =>
    Effect.gen(function*() {
      const found = new Set<string>()
      for (let delay = 50; delay < 650; delay += 50) {
        const all = shared()
        const first = server(slow(all), (served) => Effect.andThen(books(served), Effect.sleep("10 seconds")))
        const second = server(all, (served) =>
          Effect.gen(function*() {
            found.add(yield* say(served, "m2", "hi"))
            yield* settled(served)
            const thread = yield* threadOf(served)
            laws(all, thread, `after ${delay}`)
            assert.lengthOf(thread.filter((line) => line === "assistant done book"), 1, `after ${delay}`)
          }))
        const ended = yield* VirtualTime.runAll([
          { effect: first },
          { effect: Effect.delay(second, delay), identity: 1 }
        ])
        for (const { exit } of ended) if (Exit.isFailure(exit)) assert.fail(outcomeOf(exit))
      }
      assert.deepStrictEqual([...found].toSorted(), ["ThreadBusy", "ok"])
    }))
})
