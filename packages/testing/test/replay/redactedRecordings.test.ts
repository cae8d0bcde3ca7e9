/** Recordings without secrets: of drawn programs that have them in every place, streamed or not. */
import { assert, describe, it } from "@effect/vitest"
import { Replay, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Layer, Option } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { Approval } from "@recourse/core"
import {
  build,
  decide,
  fields,
  id,
  input,
  type Leaky,
  leaky,
  model,
  redactorOf,
  secrets,
  told
} from "../support/leaky.ts"

const runs = Number(process.env["RECOURSE_RECORDINGS"] ?? 25)
const seed = Number(process.env["RECOURSE_RECORDING_SEED"] ?? 1)

const recorded = (drawn: Leaky, redact: Replay.RecordOptions["redact"]) => {
  const { agent, tools } = build(drawn, () => {})
  return VirtualTime.run(
    Effect.provide(
      Replay.record(agent, input(drawn), { tools, redact, streaming: drawn.streaming, decide: decide(drawn) }),
      [model(drawn), redactorOf(drawn), Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) })]
    )
  ).pipe(Effect.map(({ exit }) => Option.getOrThrow(Exit.getSuccess(exit))))
}

const replayed = (drawn: Leaky, recording: Replay.Recording, instructions?: string) => {
  const again = build(drawn, () => assert.fail("A replay executes a tool"), instructions)
  return Effect.provide(Replay.run(again.agent, recording, { tools: again.tools }), redactorOf(drawn))
}

/** All texts of a value: with those of JSON within them, and those that come in pieces, together. */
const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") {
    try {
      const within: unknown = JSON.parse(value)
      return typeof within === "number" ? [value] : [value, ...textsOf(within)]
    } catch {
      return [value]
    }
  }
  if (typeof value !== "object" || value === null) return []
  const pieces = Array.isArray(value)
    ? [
      ...Map.groupBy(value, (item) => `${item?.type} ${item?._tag} ${item?.id ?? item?.partId ?? item?.callId}`)
        .values()
    ]
      .map((items) => items.map((item) => typeof item?.delta === "string" ? item.delta : "").join(""))
    : []
  return [
    ...pieces.flatMap(textsOf),
    ...Object.entries(value).flatMap(([key, item]) => [key, ...textsOf(item)])
  ]
}

/** Positions of a text in the JSON of a recording, unescaped or escaped any number of times. */
const leaks = (json: string, secret: string): ReadonlyArray<string> => {
  let form = secret
  const forms = Array.from({ length: 5 }, () => {
    const last = form
    form = JSON.stringify(form).slice(1, -1)
    return last
  })
  return [json, ...textsOf(JSON.parse(json))].filter((text) => forms.some((form) => text.includes(form)))
}

const problemOf = (drawn: Leaky): Effect.Effect<string | undefined> =>
  Effect.gen(function*() {
    const { exit, recording } = yield* recorded(drawn, { fields })
    const json = yield* Effect.orDie(Replay.stringify(recording))
    for (const name of told(drawn)) {
      const found = leaks(json, secrets[name])
      if (found.length > 0) return `${name} is in the recording: ${found.at(-1)}`
    }
    const begun = recording.modelCalls.flatMap(({ outcome }) =>
      outcome._tag === "Parts" && outcome.error !== undefined ? textsOf(outcome.parts) : []
    )
    for (const name of told(drawn)) {
      // Nor the beginning of one in an answer that was cut off.
      const found = begun.find((text) => text.includes(secrets[name].slice(0, 8)))
      if (found !== undefined) return `${name} has begun in the recording: ${found}`
    }
    if (drawn.redactor !== "results" && !json.includes(`call ${id(0)}`)) return "An id is taken for a secret"
    const stored = yield* Effect.orDie(Replay.parse(json))
    const same = yield* replayed(drawn, stored)
    if (Option.isSome(same.difference)) return Replay.print(same.difference.value)
    if (same.exit._tag !== exit._tag) return "The replay ends in another way"
    const { difference } = yield* replayed(drawn, stored, "Work well.")
    if (Option.isNone(difference) || difference.value.kind !== "request" || difference.value.index !== 0) {
      return "Another program is not told apart"
    }
    return undefined
  })

describe("a recording of a program with secrets", () => {
  it.effect("holds none of them, and is replayed without a difference", () =>
    Effect.gen(function*() {
      const result = yield* Arbitrary.checkEffect(leaky, (drawn) =>
        Effect.flatMap(problemOf(drawn), (problem) =>
          problem === undefined ? Effect.succeed(true) : Effect.fail(problem)), { runs, seed, maxShrinks: 200 })
      assert.strictEqual(
        result._tag,
        "Passed",
        result._tag === "Falsified"
          ? `${result.failure._tag === "PropertyError" ? result.failure.error : ""}\n${
            JSON.stringify(result.shrunkInput, null, 1)
          }`
          : ""
      )
    }), 120_000)

  it.effect("does not change without a secret", () =>
    Effect.gen(function*() {
      for (const streaming of [false, true]) {
        for (const failure of ["none", "declared", "escalation"] as const) {
          const places = [{ place: "text", secret: 0 }, { place: "argument", secret: 0 }] as const
          const drawn: Leaky = {
            secrets: ["ticket"],
            places,
            failure,
            decision: "edit",
            redactor: "default",
            streaming,
            size: 3,
            asText: true,
            cut: 7
          }
          const shown = yield* Effect.flatMap(recorded(drawn, {}), ({ recording }) => Replay.stringify(recording))
          const raw = yield* Effect.flatMap(recorded(drawn, false), ({ recording }) => Replay.stringify(recording))
          assert.strictEqual(shown, raw)
        }
      }
    }))
})
