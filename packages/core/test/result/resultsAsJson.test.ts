import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Arbitrary, Cause, Effect, Exit, Layer, Option, Redacted, Schema, SchemaGetter } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, Recovery, RunRecord, Tool, ToolError } from "@recourse/core"
import { lastResults, random } from "../support/kit.ts"
import { seed as firstSeed } from "../support/operations.ts"

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

/** A random schema of a tool: any depth of values with and without a JSON form. */
const randomSchema = (next: () => number, depth: number): Schema.Top => {
  const inner = () => randomSchema(next, depth - 1)
  const leaves: ReadonlyArray<() => Schema.Top> = [
    () => Schema.String,
    () => Schema.Number,
    () => Schema.Boolean,
    () => Schema.BigInt,
    () => Schema.Date,
    () => Schema.Uint8Array,
    () => Schema.Undefined,
    () => Schema.Void,
    () => Schema.Null,
    () => Schema.Json,
    () => Schema.FiniteFromString,
    () => Schema.Literals(["a", 1, true])
  ]
  const branches: ReadonlyArray<() => Schema.Top> = [
    () => Schema.Option(inner()),
    () => Schema.Array(inner()),
    () => Schema.Struct({ a: inner(), b: Schema.optional(inner()), c: Schema.optionalKey(inner()) }),
    () => Schema.Record(Schema.String, inner()),
    () => Schema.ReadonlyMap(Schema.String, inner()),
    () => Schema.NullOr(inner()),
    () => Schema.UndefinedOr(inner()),
    () => Schema.Tuple([inner(), inner()]),
    () => Schema.Result(inner(), Schema.String)
  ]
  const from = depth === 0 ? leaves : [...leaves, ...branches, ...branches]
  return from[Math.floor(next() * from.length)]!()
}

const programs = Number(process.env["RECOURSE_PROGRAMS"] ?? 50)

const Refund = Tool.make("refund", {
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: () => Effect.succeed("refunded")
})

/** A tool that answers a value, and counts how often. */
const answering = (success: Schema.Top, value: unknown) => {
  const ran = { times: 0 }
  const Look = Tool.make("look", {
    success: success as Schema.Codec<unknown, unknown>,
    effects: "write",
    execute: () => Effect.sync(() => (ran.times++, value))
  })
  return { Look, ran }
}

const stored = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const requestOf = ({ prompt }: ScriptedModel.Request) => stored(prompt)

describe("a result of any schema", () => {
  it.effect(
    "is equal in the next request, stored in between or not",
    () =>
      Effect.gen(function*() {
        const forms = new Set<string>()
        for (let seed = firstSeed; seed < firstSeed + programs; seed++) {
          const success = randomSchema(random(seed), 3)
          const [value] = yield* Effect.orDie(
            Arbitrary.sampleEffect(Arbitrary.schema(success as Schema.Codec<unknown>), { seed })
          )
          const { Look, ran } = answering(success, value)
          const agentOf = () => Agent.make("a", { tools: [Look, Refund], defaults: { onError: Recovery.standard } })
          const both = ScriptedModel.calls([{ name: "look", params: {} }, { name: "refund", params: {} }])
          const started = yield* agentOf().start("go").pipe(
            Effect.provide(Layer.merge(key, ScriptedModel.layer([both])))
          )
          assert.strictEqual(started._tag, "Paused", `seed ${seed}`)
          const { pending, snapshot } = started as Approval.Paused
          const [through, direct] = yield* Effect.all([stored(snapshot), snapshot].map((kept) =>
            Effect.gen(function*() {
              yield* agentOf().resume(kept, [Approval.respond(pending[0]!, "refunded")])
              return yield* (yield* ScriptedModel.ScriptedModel).lastRequest
            }).pipe(
              Effect.provide(Layer.merge(key, ScriptedModel.layer([ScriptedModel.text("done")]))),
              Effect.provideService(Approval.Resumptions, { claim: () => Effect.succeed(true) })
            )
          ))
          const unpaused = yield* Effect.gen(function*() {
            const Plain = Tool.make("refund", {
              success: Schema.String,
              effects: "write",
              execute: () => Effect.succeed("refunded")
            })
            yield* Agent.make("a", { tools: [Look, Plain], defaults: { onError: Recovery.standard } }).run("go")
            return yield* (yield* ScriptedModel.ScriptedModel).lastRequest
          }).pipe(Effect.provide(ScriptedModel.layer([both, ScriptedModel.text("done")])))
          assert.deepStrictEqual(requestOf(through!), requestOf(direct!), `seed ${seed}`)
          assert.deepStrictEqual(requestOf(through!), requestOf(unpaused), `seed ${seed}`)
          assert.strictEqual(ran.times, 2)
          const result = lastResults(through!.prompt)[0]!
          assert.isFalse(result.isFailure, `seed ${seed}: ${JSON.stringify(result)}`)
          assert.deepStrictEqual(stored(result.result), result.result, `seed ${seed}`)
          // No value is lost: it decodes to the tool's answer.
          const codec = Schema.toCodecJson(success as Schema.Codec<unknown>)
          const back = yield* Schema.decodeUnknownEffect(codec)(result.result)
          assert.deepStrictEqual(yield* Schema.encodeEffect(codec)(back), result.result, `seed ${seed}`)
          forms.add(success.ast._tag)
        }
        assert.isAbove(forms.size, 5)
      }),
    60_000
  )

  it.effect("is in the record of a failed run, which resumes", () =>
    Effect.gen(function*() {
      const values: ReadonlyArray<readonly [Schema.Top, unknown, unknown]> = [
        [Schema.Date, new Date(0), "1970-01-01T00:00:00.000Z"],
        [Schema.Option(Schema.BigInt), Option.some(3n), { _tag: "Some", value: "3" }],
        [Schema.Uint8Array, new Uint8Array([1, 2]), "AQI="],
        [Schema.Number, NaN, "NaN"],
        [Schema.Struct({ a: Schema.optional(Schema.String) }), { a: undefined }, { a: null }],
        [Schema.Unknown, { a: undefined, b: [undefined] }, { b: [null] }],
        [Schema.Unknown, undefined, null],
        [Schema.Any, new Date(0), "1970-01-01T00:00:00.000Z"]
      ]
      for (const [success, value, expected] of values) {
        const { Look, ran } = answering(success, value)
        const agent = Agent.make("a", { tools: [Look], defaults: { onError: Recovery.standard } })
        const { exit, ...record } = yield* agent.report("go").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("look", {}), ScriptedModel.failure("NetworkError")]))
        )
        assert.strictEqual(exit._tag, "Failure")
        const snapshot = Option.getOrThrow(yield* Effect.provide(RunRecord.snapshot(record), key))
        const request = yield* Effect.gen(function*() {
          yield* agent.resume(stored(snapshot), [])
          return yield* (yield* ScriptedModel.ScriptedModel).lastRequest
        }).pipe(Effect.provide(Layer.merge(key, ScriptedModel.layer([ScriptedModel.text("done")]))))
        assert.deepStrictEqual(lastResults(request.prompt)[0]?.result, expected)
        assert.strictEqual(ran.times, 1)
      }
    }))

  it.effect("of an own type has its JSON form, also for text values", () =>
    Effect.gen(function*() {
      const Code = Schema.declare((value: unknown): value is string => typeof value === "string", {
        toCodecJson: () =>
          Schema.link<string>()(Schema.Struct({ code: Schema.String }), {
            decode: SchemaGetter.transform(({ code }) => code),
            encode: SchemaGetter.transform((code) => ({ code }))
          })
      })
      const { Look } = answering(Code, "a")
      const agent = Agent.make("a", { tools: [Look], defaults: { onError: Recovery.standard } })
      const request = yield* Effect.gen(function*() {
        yield* agent.run("go")
        return yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("look", {}), ScriptedModel.text("done")])))
      assert.deepStrictEqual(lastResults(request.prompt)[0]?.result, { code: "a" })
    }))

  it.effect("that is not JSON is an invalid result, and not a defect", () =>
    Effect.gen(function*() {
      const cycle: Record<string, unknown> = {}
      cycle["itself"] = cycle
      const values: ReadonlyArray<readonly [value: unknown, kind: string, path?: ReadonlyArray<string | number>]> = [
        [3n, "a bigint"],
        [() => 1, "a function"],
        [Symbol.for("a"), "a symbol"],
        [NaN, "NaN"],
        [cycle, "a cycle"],
        [{ deep: { b: 3n } }, "a bigint", ["deep", "b"]],
        [{ at: new Date(0), rows: [{ tags: "a" }, { tags: new Set(["b"]) }] }, "a Set", ["rows", 1, "tags"]],
        [new Map(), "a Map"],
        [new Uint8Array([1]), "a Uint8Array"],
        [Promise.resolve(1), "a Promise"],
        [{ inner: Promise.resolve(1) }, "a Promise", ["inner"]],
        [new Error("lost"), "a Error"],
        [Object.assign(new Error("lost"), { code: "ENOENT" }), "a Error"],
        [new Response("lost"), "a Response"],
        [/lost/, "a RegExp"],
        [new WeakMap(), "a WeakMap"]
      ]
      for (const success of [Schema.Unknown, Schema.Any]) {
        for (const [value, kind, path = []] of values) {
          const { Look, ran } = answering(success, value)
          const agent = Agent.make("a", { tools: [Look, Refund], defaults: { onError: Recovery.standard } })
          const error = yield* Effect.flip(
            agent.start("go").pipe(Effect.provide(
              Layer.merge(
                key,
                ScriptedModel.layer([
                  ScriptedModel.calls([{ name: "look", params: {} }, { name: "refund", params: {} }]),
                  ScriptedModel.text("done")
                ])
              )
            ))
          )
          assert.instanceOf(error, ToolError.InvalidResult)
          assert.deepStrictEqual((error as ToolError.InvalidResult).issues, [
            { path, expected: `expected a value that JSON can hold, and not ${kind}`, problem: "invalid" }
          ])
          assert.strictEqual(ran.times, 1)
        }
      }
    }))

  describe("that cannot be read", () => {
    const unreadable = (): never => {
      throw new Error("no longer loaded")
    }
    const values: Readonly<Record<string, () => unknown>> = {
      "a getter that throws": () => Object.defineProperty({}, "a", { get: unreadable, enumerable: true }),
      "a proxy without a target": () => new Proxy({}, { get: unreadable, ownKeys: unreadable, has: unreadable }),
      "a toJSON that throws": () => ({ toJSON: unreadable })
    }
    const throwing = Schema.Unknown.pipe(Schema.decodeTo(Schema.Unknown, {
      decode: SchemaGetter.passthrough(),
      encode: SchemaGetter.transform(unreadable)
    }))
    const schemas: Readonly<Record<string, Schema.Top>> = {
      "any value": Schema.Unknown,
      JSON: Schema.Json,
      "a struct": Schema.Struct({ a: Schema.Unknown }),
      "a record": Schema.Record(Schema.String, Schema.Unknown),
      "a list": Schema.Array(Schema.Unknown),
      "a union": Schema.Union([Schema.Struct({ a: Schema.String }), Schema.String]),
      "a schema that throws": throwing
    }
    for (const [of, success] of Object.entries(schemas)) {
      for (const [name, make] of Object.entries(values)) {
        it.effect(`is an invalid result of ${of}, for ${name}`, () =>
          Effect.gen(function*() {
            const { Look, ran } = answering(success, make())
            const agent = Agent.make("a", { tools: [Look], defaults: { onError: Recovery.standard } })
            const { exit } = yield* agent.report("go").pipe(
              Effect.provide(ScriptedModel.layer([ScriptedModel.call("look", {}), ScriptedModel.text("done")]))
            )
            assert.instanceOf(Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit, ToolError.InvalidResult)
            assert.strictEqual(ran.times, 1)
          }))
      }
    }
  })

  it.effect("can be answered by a person, as JSON", () =>
    Effect.gen(function*() {
      const When = Tool.make("when", {
        success: Schema.Struct({ at: Schema.Date, n: Schema.BigInt }),
        effects: "write",
        needsApproval: true,
        execute: () => Effect.die("not run")
      })
      const agent = Agent.make("a", { tools: [When], defaults: { onError: Recovery.standard } })
      const started = yield* agent.start("go").pipe(
        Effect.provide(Layer.merge(key, ScriptedModel.layer([ScriptedModel.call("when", {})])))
      )
      const { pending, snapshot } = started as Approval.Paused
      const answer = { at: "1970-01-01T00:00:00.000Z", n: "3" }
      const request = yield* Effect.gen(function*() {
        yield* agent.resume(stored(snapshot), [Approval.respond(pending[0]!, answer)])
        return yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      }).pipe(Effect.provide(Layer.merge(key, ScriptedModel.layer([ScriptedModel.text("done")]))))
      assert.deepStrictEqual(lastResults(request.prompt)[0]?.result, answer)
    }))
})

describe("a conversation that the program brings", () => {
  it.effect("may contain values beyond JSON: a pause keeps the rest", () =>
    Effect.gen(function*() {
      const history = Prompt.fromMessages([
        Prompt.assistantMessage({
          content: [Prompt.toolCallPart({ id: "h", name: "old", params: { n: 3n }, providerExecuted: false })]
        }),
        Prompt.toolMessage({
          content: [
            Prompt.toolResultPart({
              id: "h",
              name: "old",
              isFailure: false,
              result: { a: undefined, b: 1, at: new Date(0), n: 3n },
              providerExecuted: false
            })
          ]
        })
      ])
      const agent = Agent.make("a", {
        tools: [Refund],
        prompt: () => history,
        defaults: { onError: Recovery.standard }
      })
      const started = yield* agent.start("go").pipe(
        Effect.provide(Layer.merge(key, ScriptedModel.layer([ScriptedModel.call("refund", {})])))
      )
      assert.strictEqual(started._tag, "Paused")
      const { pending, snapshot } = started as Approval.Paused
      const resumed = yield* agent.resume(stored(snapshot), [Approval.approve(pending[0]!)]).pipe(
        Effect.provide(Layer.merge(key, ScriptedModel.layer([ScriptedModel.text("done")])))
      )
      assert.strictEqual(resumed._tag, "Completed")
    }))
})
