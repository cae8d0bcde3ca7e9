/** Invalid requests to durable runs, and the refusal of each of them: the same on each store. */
import { assert } from "@effect/vitest"
import { Agent, Approval, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore, Signal } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Duration, Effect, Layer, Schema, Stream } from "effect"

const Echo = Durable.make(Agent.fromFunction("echo", (text: string) => Effect.succeed(text)))

const long = "x".repeat(256)
const longest = "é".repeat(255)
const texts = { NUL: "a\0b", "half a character": "a\ud800", "too long": long, "very long": "x".repeat(3_000) }
const ids: Readonly<Record<string, string>> = { ...texts, empty: "", "no text": 7 as never, "nothing": null as never }
const delays: Readonly<Record<string, Duration.Input>> = {
  infinite: Duration.infinity,
  "Infinity": Infinity,
  "NaN": Number.NaN,
  negative: -1,
  "negative text": "-5 seconds",
  "no duration": "5 bananas" as never,
  "beyond all dates": 1e300,
  nothing: null as never
}
const wholes: Readonly<Record<string, number>> = {
  negative: -1,
  "NaN": Number.NaN,
  fractional: 1.5,
  infinite: Infinity,
  huge: 1e21,
  text: "5" as never
}
const times: Readonly<Record<string, number>> = {
  "NaN": Number.NaN,
  infinite: -Infinity,
  huge: 1e300,
  text: "5" as never
}

const noMessages: Readonly<Record<string, readonly [named: string, message: Runs.UserMessage]>> = {
  "no text": ["content", { id: "m1", content: 7 as never }],
  nothing: ["content", { id: "m1", content: null as never }],
  absent: ["content", { id: "m1" } as never],
  "a bigint": ["content", { id: "m1", content: 7n as never }],
  "an unknown part": ["content", { id: "m1", content: [{ type: "dance" }] as never }],
  "without id": ["id", { content: "Hello" } as never]
}
const cyclic: Record<string, unknown> = {}
cyclic["itself"] = cyclic
const noJson: Readonly<Record<string, unknown>> = {
  absent: undefined,
  "a bigint": 7n,
  "NaN": Number.NaN,
  "a date": new Date(0),
  "a function": () => 7,
  "a cycle": cyclic
}

type Asked = Effect.Effect<unknown, { readonly _tag: string; readonly message: string }, Runs.Runs | RunStore.RunStore>

const runs = <A, E>(use: (runs: Runs.RunsService) => Effect.Effect<A, E>) => Effect.flatMap(Runs.Runs, use)

const eventsOf = (runId: string, from?: number) => runs((runs) => Stream.runCollect(runs.events(runId, from)))

/** Requests refused by `InvalidInput`, with the names in the message. */
const invalid: ReadonlyArray<readonly [what: string, asked: Asked, named: string]> = [
  ...Object.entries(ids).flatMap(([what, id]): ReadonlyArray<readonly [string, Asked, string]> => [
    [`start: a run id, ${what}`, Echo.start(id, "x"), "runId"],
    [`run: a run id, ${what}`, Echo.run(id, "x"), "runId"],
    [`send: a name, ${what}`, Signal.send("there", id, 1), "name"]
  ]),
  ...Object.entries(noMessages).map(([what, [named, message]]) =>
    [`addMessage: a message, ${what}`, runs((runs) => runs.addMessage!("there", message)), named] as const
  ),
  ...Object.entries(noJson).map(([what, value]) =>
    [`send: a value, ${what}`, Signal.send("there", "name", value as never), "value"] as const
  ),
  ...Object.entries({ ...texts, "no text": 7 as never }).map(([what, owner]) =>
    [`start: an owner, ${what}`, Echo.start("new", "x", { owner }), "owner"] as const
  ),
  ...Object.entries(delays).map(([what, delay]) =>
    [`start: a delay, ${what}`, Echo.start("new", "x", { delay }), "delay"] as const
  ),
  ...Object.entries({ ...wholes, none: 0 }).map(([what, limit]) =>
    [`list: a limit, ${what}`, runs((runs) => runs.list({ limit })), "limit"] as const
  ),
  ["list: a misspelt field", runs((runs) => runs.list({ onwer: "ada" } as Runs.Query)), "onwer"],
  ["list: a status that no run has", runs((runs) => runs.list({ status: "sleeping" as never })), "status"],
  ...Object.entries(wholes).map(([what, from]) => [`events: from, ${what}`, eventsOf("there", from), "from"] as const),
  ...Object.entries(times).flatMap(([what, time]): ReadonlyArray<readonly [string, Asked, string]> => [
    [`list: a time, ${what}`, runs((runs) => runs.list({ startedAfter: time })), "startedAfter"],
    [`list: a time, ${what}`, runs((runs) => runs.list({ startedBefore: time })), "startedBefore"],
    [
      `list: behind, ${what}`,
      runs((runs) => runs.list({ behind: { runId: "there", startedAt: time } })),
      "behind.startedAt"
    ]
  ]),
  ...([["NUL", "a\0b"], ["half a character", "a\ud800"], ["no text", 7 as never]] as const).flatMap(
    ([what, text]): ReadonlyArray<readonly [string, Asked, string]> => [
      ...(["agent", "owner", "askedOf", "idPrefix", "status"] as const).map((name) =>
        [`list: ${name}, ${what}`, runs((runs) => runs.list({ [name]: text })), name] as const
      ),
      [
        `list: behind, ${what}`,
        runs((runs) => runs.list({ behind: { runId: text, startedAt: 1 } })),
        "behind.runId"
      ]
    ]
  )
]

/** A request for a run with an impossible id reports that it does not exist. */
const unknown = (id: string): Readonly<Record<string, Asked>> => ({
  get: Echo.poll(id),
  wait: Echo.await(id),
  events: eventsOf(id),
  decide: Echo.decide(id, [{ _tag: "Reject", callId: "c", argumentsHash: "00", reason: "no" } as never]),
  cancel: Echo.cancel(id),
  send: Signal.send(id, "name", 1)
})

/** A call that waits, whose id a model has made, and that a database may not store. */
const decided = (callId: string, n: number) =>
  Effect.gen(function*() {
    const Pay = Tool.make("pay", {
      success: Schema.String,
      effects: "write",
      needsApproval: true,
      execute: () => Effect.succeed("paid")
    })
    const Clerk = Durable.make(
      Agent.make(`clerk ${n}`, { tools: [Pay], defaults: { onError: Recovery.keepGoing } })
    )
    const model = ScriptedModel.layer([ScriptedModel.call("pay", {}, { id: callId }), ScriptedModel.text("Done.")])
    const store = Layer.succeed(RunStore.RunStore, yield* RunStore.RunStore)
    return yield* Effect.scoped(Effect.provide(
      Effect.gen(function*() {
        yield* Clerk.start(`decided ${n}`, "x")
        const [waits] = yield* Effect.repeat(
          Effect.map(Effect.delay(Clerk.poll(`decided ${n}`), "5 millis"), ({ pending }) => pending),
          { until: (pending) => pending.length > 0 }
        )
        const approved = Approval.approve(waits as unknown as Approval.PendingCall)
        yield* Clerk.decide(`decided ${n}`, [approved])
        const again = yield* Effect.flip(Clerk.decide(`decided ${n}`, [approved]))
        // It may have continued meanwhile.
        assert.include(["twice", "unknown_call"], again._tag === "DecisionRefused" ? again.reason : again._tag)
        if (again._tag === "DecisionRefused") assert.strictEqual(again.callId, approved.callId)
        return yield* Clerk.await(`decided ${n}`)
      }),
      Durable.layer([Clerk], { poll: "10 millis" }).pipe(Layer.provide([store, model]))
    ))
  })

/** Asks for all of it, and looks whether anything was written. */
export const badRequests = Effect.gen(function*() {
  const store = yield* RunStore.RunStore
  const client = Durable.layerClient([Echo]).pipe(Layer.provideMerge(Layer.succeed(RunStore.RunStore, store)))
  yield* Effect.gen(function*() {
    yield* Echo.start("there", "x")
    for (const [what, asked, named] of invalid) {
      const error = yield* Effect.flip(asked).pipe(
        Effect.catchCause((cause) => Effect.die(new Error(`${what}: it is not refused`, { cause })))
      )
      assert.strictEqual(error._tag, "InvalidInput", what)
      assert.include(error.message, `${named}: expected`, what)
      assert.notInclude(error.message, "schema", what)
    }
    assert.strictEqual((yield* Effect.flip(Echo.start("new", 7 as never)))._tag, "InvalidInput")
    for (const [what, id] of Object.entries(ids)) {
      for (const [operation, asked] of Object.entries(unknown(id))) {
        const error = yield* Effect.flip(asked)
        assert.strictEqual(error._tag, "UnknownRun", `${operation}: ${what}`)
      }
    }
    assert.deepStrictEqual((yield* store.list({})).map(({ runId }) => runId), ["there"])
    assert.isUndefined(yield* store.signalled("there", long))
    // Values at the limits, and between two milliseconds.
    assert.deepStrictEqual(yield* Echo.start(longest, "x", { owner: longest, delay: "1000 days" }), {
      runId: longest,
      isNew: true
    })
    assert.isTrue(yield* Signal.send(longest, longest, 1))
    assert.strictEqual((yield* Echo.poll(longest)).owner, longest)
    const { startedAt } = yield* Echo.poll("there")
    const ofTime = (query: Runs.Query) =>
      runs((runs) => Effect.map(runs.list({ idPrefix: "there", ...query }), (found) => found.length))
    assert.strictEqual(yield* ofTime({ startedAfter: startedAt - 0.5, startedBefore: startedAt + 0.5 }), 1)
    assert.strictEqual(yield* ofTime({ startedAfter: startedAt + 0.5 }), 0)
    assert.strictEqual(yield* ofTime({ startedBefore: startedAt - 0.5 }), 0)
    assert.strictEqual(yield* ofTime({ limit: Number.MAX_SAFE_INTEGER }), 1)
    assert.deepStrictEqual(yield* eventsOfQueued("there"), [])
  }).pipe(Effect.provide(client))
  for (const [n, callId] of ["a\0b", "\ud800", long, "x".repeat(3_000), "c1"].entries()) {
    assert.strictEqual(yield* decided(callId, n), "Done.")
  }
})

/** The events that a run has had so far, from a number that it has not come to. */
const eventsOfQueued = (runId: string) =>
  runs((runs) =>
    Effect.map(
      Effect.timeoutOption(Stream.runCollect(runs.events(runId, Number.MAX_SAFE_INTEGER)), "20 millis"),
      () => []
    )
  )
