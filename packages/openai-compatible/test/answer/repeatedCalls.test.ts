/** Calls that a server reports more than once: drawn lists of calls, streamed in drawn ways, come out exactly once each. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Effect, Schema, Stream } from "effect"
import { answering, generate, joined, observe, type Reply, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

interface Drawn {
  readonly id: string | undefined
  readonly name: string
  readonly args: Record<string, unknown>
}

/** Draws numbers below a limit from a seed. */
const drawing = (seed: number) => {
  let state = seed * 2654435761 >>> 0
  const below = (limit: number): number => {
    state = state + 0x6d2b79f5 >>> 0
    let t = Math.imul(state ^ state >>> 15, 1 | state)
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t
    return ((t ^ t >>> 14) >>> 0) % limit
  }
  return { below, either: () => below(2) === 0, of: <A>(values: ReadonlyArray<A>): A => values[below(values.length)]! }
}

type Draw = ReturnType<typeof drawing>

const drawCalls = ({ below, of }: Draw, hasIds: boolean): ReadonlyArray<Drawn> =>
  Array.from({ length: 1 + below(4) }, (_, at) => ({
    id: hasIds ? `call_${at}` : undefined,
    name: of(["parse", "pay"]),
    // Some calls have equal arguments: only their ids distinguish them.
    args: of([{ json: "x" }, { json: `é"${at}`, n: at }, { a: [1, { b: null }], z: at + 0.5 }, {}])
  }))

const delta = (fields: Record<string, unknown>, name: string | undefined, args: string | undefined) => ({
  ...fields,
  type: "function",
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) }
})

/** The same arguments in another text. */
const otherText = ({ either }: Draw, args: Record<string, unknown>): string =>
  either()
    ? JSON.stringify(args)
    : JSON.stringify(Object.fromEntries(Object.entries(args).toReversed()), undefined, either() ? 1 : 0)

const cut = ({ below }: Draw, text: string): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (let at = 0; at < text.length;) {
    const length = 1 + below(text.length)
    pieces.push(text.slice(at, at + length))
    at += length
  }
  return pieces
}

/** The deltas of one call: its pieces, and repeated reports of all of it. */
const deltasOf = (draw: Draw, call: Drawn, at: number, style: Style) => {
  const index = style.index === "number" ? { index: at } : style.index === "text" ? { index: String(at) } : {}
  const isNamedLate = style.name === "late" && style.index !== "missing"
  const pieces = cut(draw, JSON.stringify(call.args))
  const fields = (piece: number) => ({
    ...index,
    ...(call.id !== undefined && (piece === 0 || style.idEverywhere) ? { id: call.id } : {})
  })
  const out = pieces.map((piece, i) =>
    delta(fields(i), (i === 0 || style.name === "every") && !isNamedLate ? call.name : undefined, piece)
  )
  if (isNamedLate) out.push(delta(fields(1), call.name, ""))
  if (style.canEcho) {
    for (let echoes = draw.below(3); echoes > 0; echoes--) {
      const text = otherText(draw, call.args)
      const own = draw.either() && style.index !== "missing" ? fields(1) : { ...index, ...fields(0) }
      const isIdentified = "id" in own || "index" in own
      if (!isIdentified) continue
      const isNamed = draw.either()
      if (draw.either() || !isNamed) out.push(delta(own, isNamed ? call.name : undefined, text))
      else {
        const [first = "", ...rest] = cut(draw, text)
        out.push(delta(own, call.name, first), ...rest.map((piece) => delta(own, undefined, piece)))
      }
    }
  }
  return out
}

interface Style {
  readonly index: "number" | "text" | "missing"
  readonly idEverywhere: boolean
  readonly name: "first" | "every" | "late"
  readonly canEcho: boolean
}

const wholeCalls = (draw: Draw, calls: ReadonlyArray<Drawn>, fields: (at: number) => Record<string, unknown>) =>
  calls.map((call, at) =>
    delta({ ...(call.id === undefined ? {} : { id: call.id }), ...fields(at) }, call.name, otherText(draw, call.args))
  )

/** A stream of these calls, drawn. */
const drawStream = (draw: Draw, calls: ReadonlyArray<Drawn>, hasIds: boolean): Reply => {
  const index = draw.of(["number", "text", "missing"] as const)
  const style: Style = {
    index,
    idEverywhere: draw.either(),
    name: draw.of(hasIds || index !== "missing" ? ["first", "every", "late"] as const : ["first"] as const),
    canEcho: hasIds || index !== "missing"
  }
  const queues = calls.map((call, at) => [...deltasOf(draw, call, at, style)])
  const isMixed = draw.either() && (index !== "missing" || (hasIds && style.idEverywhere))
  const deltas: Array<unknown> = []
  while (queues.some(({ length }) => length > 0)) {
    const waiting = queues.filter(({ length }) => length > 0)
    deltas.push((isMixed ? draw.of(waiting) : waiting[0]!).shift())
  }
  const chunks = deltas.map((one) => Server.chunk({ tool_calls: [one] }))
  const numbered = (at: number) => (index === "missing" ? {} : { index: at })
  const last = draw.below(4)
  const end = last === 0
    ? Server.chunk({ tool_calls: wholeCalls(draw, calls, numbered) }, "tool_calls")
    : last === 1
    ? Server.event({
      choices: [{
        index: 0,
        delta: draw.either() ? {} : null,
        message: { role: "assistant", content: null, tool_calls: wholeCalls(draw, calls, () => ({})) },
        finish_reason: "tool_calls"
      }]
    })
    : Server.chunk({}, "tool_calls")
  return { type: "text/event-stream", body: [...chunks, end, Server.done].join("") }
}

/** A whole body that reports some of the calls twice. */
const drawBody = (draw: Draw, calls: ReadonlyArray<Drawn>): Reply => {
  const once = wholeCalls(draw, calls, () => ({}))
  const again = wholeCalls(draw, calls, () => ({})).filter((_, at) => calls[at]!.id !== undefined && draw.either())
  const legacy = draw.either() ? { function_call: once[0]!.function } : {}
  return {
    body: JSON.stringify({
      choices: [{ message: { content: null, tool_calls: [...once, ...again], ...legacy }, finish_reason: "tool_calls" }]
    })
  }
}

/** Mixed deltas come out in the order of their first pieces. */
const sorted = (calls: ReadonlyArray<ReadonlyArray<unknown>>) => calls.map((call) => JSON.stringify(call)).toSorted()

const callsIn = (parts: ReadonlyArray<Readonly<Record<string, unknown>>>) =>
  parts.filter(({ type }) => type === "tool-call").map(({ name, params }) => [name, params])

describe("calls that are reported more than once", () => {
  it.effect("come out once each, however they are streamed", () =>
    Effect.gen(function*() {
      for (let seed = 1; seed <= 500; seed++) {
        const draw = drawing(seed)
        const hasIds = draw.below(3) > 0
        const calls = drawCalls(draw, hasIds)
        const reply = drawStream(draw, calls, hasIds)
        const { error, parts } = yield* observe(stream()).pipe(Effect.provide(answering(reply)))
        assert.isUndefined(error, `seed ${seed}`)
        assert.deepStrictEqual(
          sorted(callsIn(joined(parts, true))),
          sorted(calls.map(({ args, name }) => [name, args])),
          `seed ${seed}: ${String(reply.body)}`
        )
      }
    }), 120_000)

  it.effect("come out once each of a whole body", () =>
    Effect.gen(function*() {
      for (let seed = 1; seed <= 100; seed++) {
        const draw = drawing(seed)
        const calls = drawCalls(draw, draw.below(3) > 0)
        const reply = drawBody(draw, calls)
        const { content } = yield* generate().pipe(Effect.provide(answering(reply)))
        assert.deepStrictEqual(
          callsIn(content as never),
          calls.map(({ args, name }) => [name, args]),
          `seed ${seed}: ${String(reply.body)}`
        )
      }
    }), 60_000)

  const pay = (id: string, args: string, name: string | undefined = "pay") => delta({ index: 0, id }, name, args)
  const events = (...deltas: ReadonlyArray<unknown>): Reply => ({
    type: "text/event-stream",
    body: [...deltas.map((one) => Server.chunk({ tool_calls: [one] })), Server.chunk({}, "tool_calls"), Server.done]
      .join("")
  })
  const done: Reply = {
    type: "text/event-stream",
    body: [Server.chunk({ content: "done" }), Server.chunk({}, "stop"), Server.done].join("")
  }
  const table: Record<string, readonly [Reply, ReadonlyArray<number>]> = {
    "pays once for an echo": [events(pay("a", "{\"amount\":5}"), pay("a", "{ \"amount\": 5 }")), [5]],
    "pays twice for other arguments under one id": [
      events(pay("a", "{\"amount\":5}"), pay("a", "{\"amount\":6}")),
      [5, 6]
    ],
    "pays twice for equal arguments under two ids": [
      events(pay("a", "{\"amount\":5}"), pay("b", "{\"amount\":5}")),
      [5, 5]
    ],
    "pays nothing for arguments behind arguments without a name": [
      events(pay("a", "{\"amount\":5}"), delta({ index: 0, id: "a" }, undefined, "{\"amount\":6}")),
      []
    ],
    "pays nothing for numbers that a JavaScript number cannot hold": [
      events(
        delta({ index: 0, id: "a" }, "pay", "{\"amount\":1,\"note\":2512292042121000001}"),
        delta({ index: 0, id: "a" }, "pay", "{\"amount\":1,\"note\":2512292042121000002}")
      ),
      []
    ],
    "pays once for a call in two choices of one index": [
      {
        type: "text/event-stream",
        body: [
          Server.event({
            choices: [0, 0].map((index) => ({ index, delta: { tool_calls: [pay("a", "{\"amount\":5}")] } }))
          }),
          Server.chunk({}, "tool_calls"),
          Server.done
        ].join("")
      },
      [5]
    ]
  }
  for (const [title, [reply, expected]] of Object.entries(table)) {
    it.effect(title, () =>
      Effect.gen(function*() {
        const paid: Array<number> = []
        const Pay = Tool.make("pay", {
          parameters: Schema.Struct({ amount: Schema.Int, note: Schema.optionalKey(Schema.Unknown) }),
          success: Schema.String,
          effects: "write",
          // Two equal payments of one answer are two: a repetition on the wire is one.
          allowIdenticalCalls: true,
          execute: ({ amount }) => Effect.sync(() => (paid.push(amount), "paid"))
        })
        yield* Agent.make("payer", { tools: [Pay], defaults: { onError: Recovery.standard } }).stream("Pay").pipe(
          Stream.runDrain,
          Effect.exit,
          Effect.provide(answering([reply, done]))
        )
        assert.deepStrictEqual(paid, expected)
      }))
  }
})
