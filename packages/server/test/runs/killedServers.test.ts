/** A server over durable runs is killed at each operation of a request and behind it: the next one has the thread as it is. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { VirtualTime } from "@recourse/testing"
import { operationsBetween } from "../../../core/test/support/operations.ts"
import {
  inTime,
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

interface Request {
  readonly onBusy?: OnBusy
  readonly before: (served: Served) => Effect.Effect<string | undefined, unknown>
  readonly request: (served: Served, runId: string) => Effect.Effect<unknown, unknown>
}

const waits = ({ chats, runs }: Served) =>
  Effect.gen(function*() {
    const { runId } = yield* chats.send(message("m1", "pay"))
    yield* until(runs, runId, ["waiting"])
    yield* Effect.sleep("1 second")
    return runId
  })

const works = ({ chats }: Served) =>
  Effect.gen(function*() {
    const { runId } = yield* chats.send(message("m1", "book"))
    yield* Effect.sleep("100 millis")
    return runId
  })

const decides = (decision: "approve" | "reject") => ({ chats, runs }: Served, runId: string) =>
  Effect.flatMap(runs.get(runId), ({ pending }) =>
    chats.decide(
      { ...key, by: "ada" },
      pending.map(({ callId }) => [{ runId, segment: 0, callId }, { decision }] as const)
    ))

const requests: Readonly<Record<string, Request>> = {
  "a message": {
    before: () => Effect.undefined,
    request: ({ chats }) => chats.send(message("m1", "book"))
  },
  "a message whose run waits": {
    before: () => Effect.undefined,
    request: ({ chats }) => chats.send(message("m1", "pay"))
  },
  "an approval": { before: waits, request: decides("approve") },
  "a refusal": { before: waits, request: decides("reject") },
  "the stop of a run that waits": { before: waits, request: ({ chats }, runId) => chats.stop(runId, "ada") },
  "the stop of a run at work": { before: works, request: ({ chats }, runId) => chats.stop(runId, "ada") },
  "a message that interrupts": {
    onBusy: "interrupt",
    before: waits,
    request: ({ chats }) => chats.send(message("m1b", "book more"))
  },
  "a message that is queued": {
    onBusy: "queue",
    before: works,
    request: ({ chats }) => chats.send(message("m1b", "book more"))
  }
}

/** A server that is killed at an operation. */
const first = (all: Shared, { before, onBusy, request }: Request, killAt: number | undefined) => {
  let hasStarted = false
  const served = server(all, (served) =>
    Effect.gen(function*() {
      const runId = yield* before(served)
      hasStarted = true
      yield* Effect.exit(request(served, runId!))
      yield* Effect.sleep("10 seconds")
    }), onBusy)
  return Effect.map(
    inTime(served, killAt === undefined ? {} : { killAt }),
    ({ operations }) => ({ hasStarted, operations })
  )
}

/** The first operation of a request, and the last one of its server: found once for all tests of the request. */
const bounds = new Map(
  Object.values(requests).map((request) => [
    request,
    Effect.runSync(Effect.cached(Effect.gen(function*() {
      const { operations } = yield* first(shared(), request, undefined)
      let from = 1
      for (let to = operations; from < to;) {
        const middle = Math.floor((from + to) / 2)
        if ((yield* first(shared(), request, middle)).hasStarted) to = middle
        else from = middle + 1
      }
      return { from, operations }
    })))
  ])
)

/** Calls something with a world for each operation of a request, and behind it. */
const killedAnywhere = Effect.fnUntraced(
  function*(request: Request, look: (all: Shared, about: string) => Effect.Effect<void>) {
    const { from, operations } = yield* bounds.get(request)!
    for (const killAt of operationsBetween(from, operations, 311)) {
      const all = shared()
      yield* first(all, request, killAt)
      yield* look(all, `killed at ${killAt}`)
    }
  }
)

/** The next server, when the lease of the one before is over. */
const next = (all: Shared, use: (served: Served) => Effect.Effect<void, unknown>, onBusy?: OnBusy) =>
  Effect.map(
    inTime(server(all, use, onBusy), { startAt: 90_000, identity: 1 }),
    ({ exit, stopped }) => {
      assert.strictEqual(stopped, undefined)
      if (Exit.isFailure(exit)) assert.fail(outcomeOf(exit))
    }
  )

describe("the server after one that is killed", () => {
  for (const [name, request] of Object.entries(requests)) {
    it.live(
      `has the completed calls in the thread: ${name}`,
      () =>
        killedAnywhere(request, (all, about) =>
          next(all, (served) =>
            Effect.gen(function*() {
              yield* settled(served)
              const isWaiting = (yield* served.runs.list({ status: "waiting" })).length > 0
              // Whoever reads the thread has it, before anything is said in it.
              yield* served.chats.adopt(key)
              yield* Effect.sleep("1 second")
              if (!isWaiting) laws(all, yield* threadOf(served), `${about}, read`)
              assert.strictEqual(yield* say(served, "m2", "hi"), isWaiting ? "ThreadBusy" : "ok", about)
              if (!isWaiting) laws(all, yield* threadOf(served), about)
            }))),
      120_000
    )

    it.live(
      `interrupts running or waiting runs, and knows compensations: ${name}`,
      () =>
        killedAnywhere(request, (all, about) =>
          next(all, (served) =>
            Effect.gen(function*() {
              assert.strictEqual(yield* say(served, "m2", "hi"), "ok", about)
              yield* settled(served)
              laws(all, yield* threadOf(served), about)
            }), "interrupt")),
      120_000
    )

    it.live(
      `queues behind running runs, and not behind waiting ones: ${name}`,
      () =>
        killedAnywhere(request, (all, about) =>
          next(all, (served) =>
            Effect.gen(function*() {
              const said = yield* say(served, "m2", "hi")
              yield* settled(served)
              const isWaiting = (yield* served.runs.list({ status: "waiting" })).length > 0
              assert.strictEqual(said, isWaiting ? "ThreadBusy" : "ok", about)
              if (!isWaiting) laws(all, yield* threadOf(served), about)
            }), "queue")),
      120_000
    )
  }

  it.live("stops a waiting run, with its calls and compensations stored", () =>
    Effect.gen(function*() {
      const all = shared()
      let runId = ""
      yield* inTime(server(all, (served) => Effect.map(waits(served), (id) => runId = id)))
      yield* next(all, (served) =>
        Effect.gen(function*() {
          yield* served.chats.stop(runId, "ada", "t1")
          assert.deepStrictEqual(all.log, ["book", "unbook"])
          assert.deepStrictEqual((yield* threadOf(served)).slice(0, 4), [
            "free",
            "user pay",
            "assistant",
            "book undone"
          ])
        }))
    }))
})

describe("messages that are queued", () => {
  it.live("are answered one behind the other, however many there are", () =>
    Effect.gen(function*() {
      const all = shared()
      yield* next(all, (served) =>
        Effect.gen(function*() {
          yield* works(served)
          const ids = ["m2", "m3", "m4"]
          const sent = yield* Effect.forEach(ids, (id) =>
            Effect.forkChild(say(served, id, id), { startImmediately: true }))
          assert.deepStrictEqual(yield* Effect.forEach(sent, Fiber.join), ["ok", "ok", "ok"])
          const said = (yield* threadOf(served)).filter((line) =>
            !line.startsWith("book")
          )
          assert.deepStrictEqual(said, [
            "free",
            "user book",
            "assistant",
            "assistant done book",
            ...ids.flatMap((id) => [`user ${id}`, `assistant done ${id}`])
          ])
        }), "queue")
    }))

  it.live("are refused if the run waits", () =>
    Effect.gen(function*() {
      const all = shared()
      yield* next(all, (served) =>
        Effect.gen(function*() {
          yield* served.chats.send(message("m1", "pay"))
          assert.strictEqual(yield* say(served, "m2", "hi"), "ThreadBusy")
          assert.deepStrictEqual(yield* threadOf(served), ["free", "user pay"])
        }), "queue")
    }))

  for (const onBusy of ["queue", "interrupt"] as const) {
    it.live(`at another server, or are to ${onBusy} there, are answered`, () =>
      Effect.gen(function*() {
        const all = shared()
        const ended = yield* VirtualTime.runAll([
          {
            effect: server(all, (served) =>
              Effect.gen(function*() {
                const runId = yield* works(served)
                yield* until(served.runs, runId, over)
                yield* Effect.sleep("10 seconds")
                return "ok"
              }), onBusy)
          },
          {
            identity: 1,
            effect: Effect.delay(
              server(all, (served) =>
                Effect.gen(function*() {
                  const said = yield* say(served, "m2", "hi")
                  laws(all, yield* threadOf(served), onBusy)
                  return said
                }), onBusy),
              "90 millis"
            )
          }
        ])
        assert.deepStrictEqual(ended.map(({ exit }) => exit), [Exit.succeed("ok"), Exit.succeed("ok")])
      }))
  }
})
