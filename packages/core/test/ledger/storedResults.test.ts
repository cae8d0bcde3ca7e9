/** Results that the ledger stores: a second call under the key gets the result of the first, whatever its JSON form. */
import { assert, describe, it } from "@effect/vitest"
import { IdempotencyLedger, Tool, ToolCall } from "@recourse/core"
import { Effect, Exit, Option, Schema } from "effect"

class Receipt {
  readonly total = 7
  readonly at = new Date(0)
}

/** The results of two calls under one key. The executor must run once. */
const twice = (success: Schema.Top, result: unknown) =>
  Effect.gen(function*() {
    let runs = 0
    const pay = Tool.make("pay", {
      success: success as Schema.Codec<unknown>,
      effects: "write",
      idempotency: { key: () => "order-7" },
      execute: () => Effect.sync(() => (runs++, result))
    })
    const by = (id: string) =>
      Effect.exit(Effect.provideService(pay.call, ToolCall.ToolCall, ToolCall.make({ id, arguments: {} })))
    const exits = [yield* by("c1"), yield* by("c2")]
    assert.strictEqual(runs, 1)
    return exits
  }).pipe(Effect.provide(IdempotencyLedger.layerMemory))

const results: ReadonlyArray<readonly [name: string, success: Schema.Top, result: unknown, again?: unknown]> = [
  ["undefined by Schema.Unknown", Schema.Unknown, undefined],
  ["undefined by Schema.Any", Schema.Any, undefined],
  ["undefined by Schema.Void", Schema.Void, undefined],
  ["undefined by Schema.Undefined", Schema.Undefined, undefined],
  ["undefined by Schema.UndefinedOr", Schema.UndefinedOr(Schema.String), undefined],
  ["undefined by a union with Schema.Unknown", Schema.Union([Schema.Undefined, Schema.Unknown]), undefined],
  ["null by Schema.Unknown", Schema.Unknown, null],
  ["null by Schema.NullOr", Schema.NullOr(Schema.String), null],
  ["an Option", Schema.Option(Schema.Int), Option.some(7)],
  // As JSON text has it, which is the text that the model reads.
  ["an undefined field by Schema.Unknown", Schema.Unknown, { paid: 7, note: undefined }, { paid: 7 }],
  ["an undefined item by Schema.Unknown", Schema.Unknown, [undefined, 7], [null, 7]],
  ["a Date by Schema.Unknown", Schema.Unknown, { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
  ["an instance of a class by Schema.Unknown", Schema.Unknown, new Receipt(), {
    total: 7,
    at: "1970-01-01T00:00:00.000Z"
  }]
]

describe("a result under a key", () => {
  for (const [name, success, result, ...again] of results) {
    it.effect(`is stored and replayed: ${name}`, () =>
      Effect.map(twice(success, result), (exits) =>
        assert.deepStrictEqual(exits, [
          Exit.succeed(result),
          Exit.succeed(again.length === 0 ? result : again[0])
        ])))
  }

  for (
    const [name, success, result] of [
      ["a value that JSON cannot hold", Schema.Unknown, new Map([["paid", 7]])],
      ["a class that JSON does not give back", Schema.instanceOf(Receipt), new Receipt()]
    ] as const
  ) {
    it.effect(`is an unknown outcome for the second call: ${name}`, () =>
      Effect.map(twice(success, result), ([, again]) => {
        const error = Option.getOrThrow(Exit.findErrorOption(again!)) as { readonly _tag: string }
        assert.strictEqual(error._tag, "OutcomeUnknown")
      }))
  }
})
