/** Deltas of tool calls in a stream. */

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { joined } from "../support/harness.ts"
import * as Server from "../support/server.ts"
import { call, overBytes } from "../support/chunks.ts"

describe("tool-call deltas", () => {
  const toolCalls = (...deltas: ReadonlyArray<ReadonlyArray<Record<string, unknown>>>) =>
    Effect.map(
      overBytes([
        new TextEncoder().encode(
          deltas.map((tool_calls) => Server.chunk({ tool_calls })).join("") + Server.chunk({}, "tool_calls") +
            Server.done
        )
      ]),
      ({ error, parts }) => {
        assert.isUndefined(error)
        return joined(parts, true).filter((part) => part.type === "tool-call")
          .map(({ id, name, params }) => [id, name, params])
      }
    )

  it.effect("without ids get one each", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0 }, "parse", "{\"json\":"), call({ index: 1 }, "now", "{}")],
          [call({ index: 0 }, undefined, "\"1\"}")]
        ),
        [["id_1", "parse", { json: "1" }], ["id_1_2", "now", {}]]
      )
    }))

  it.effect("with the id on each of them, and an empty one later", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a" }, "parse", "{\"json\"")],
          [call({ index: 0, id: "a" }, undefined, ":")],
          [call({ index: 0, id: "" }, undefined, "\"1\"}")]
        ),
        [["a", "parse", { json: "1" }]]
      )
    }))

  it.effect("of several calls with one index are separated by id", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a" }, "parse", "{\"json\":\"1\"}")],
          [call({ index: 0, id: "b" }, "parse", "{\"json\":")],
          [call({ index: 0 }, undefined, "\"2\"}")]
        ),
        [["a", "parse", { json: "1" }], ["b", "parse", { json: "2" }]]
      )
    }))

  it.effect("of whole calls without index and id are separated by completeness", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({}, "parse", "{\"json\":\"1\"}")],
          [call({}, "parse", { json: "2" })],
          [call({}, "now", "")]
        ),
        [["id_1", "parse", { json: "1" }], ["id_1_2", "parse", { json: "2" }], ["id_1_3", "now", {}]]
      )
    }))

  it.effect("that repeat the name continue the call", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a" }, "parse", "{\"json\":")],
          [call({ index: 0 }, "parse", "\"1\"}")],
          [call({ index: 0 }, "parse", "")]
        ),
        [["a", "parse", { json: "1" }]]
      )
    }))

  it.effect("with \"null\" as a later name continue the call", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a" }, "parse", "{\"json\":")],
          [call({ index: 0, id: "" }, "null", "\"1\"}")],
          [call({ index: 1, id: "b" }, "now", "")],
          [call({ index: 1, id: "" }, "None", "{}")]
        ),
        [["a", "parse", { json: "1" }], ["b", "now", {}]]
      )
    }))

  it.effect("with an id that another call has get a new one", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "call" }, "parse", "{\"json\":\"1\"}")],
          [call({ index: 1, id: "call" }, "now", "{}")]
        ),
        [["call", "parse", { json: "1" }], ["id_1", "now", {}]]
      )
    }))

  it.effect("whose ids change with every delta are joined by index", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a1" }, "parse", "")],
          [call({ index: 0, id: "a2" }, undefined, "{\"json\"")],
          [call({ index: 1, id: "b1" }, "parse", "{\"js")],
          [call({ index: 0, id: "a3" }, undefined, ":\"1\"}"), call({ index: 1, id: "b2" }, undefined, "on\":\"2\"}")]
        ),
        [["a1", "parse", { json: "1" }], ["b1", "parse", { json: "2" }]]
      )
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a1" }, "parse", "{\"json\"")],
          [call({ index: 0, id: "a2" }, "parse", ":\"1\"}")],
          [call({ index: 0, id: "a3" }, "now", "")],
          [call({ index: 0, id: "a4" }, "now", "")]
        ),
        [["a1", "parse", { json: "1" }], ["a3", "now", {}], ["a4", "now", {}]]
      )
    }))

  it.effect("with a duplicate key, or too deep, keep their text", () =>
    Effect.gen(function*() {
      const twice = "{\"json\":\"1\",\"json\":\"2\"}"
      const deep = `{"json":${"[".repeat(5000)}${"]".repeat(5000)}}`
      assert.deepStrictEqual(
        yield* toolCalls([call({ index: 0, id: "a" }, "parse", twice), call({ index: 1, id: "b" }, "parse", deep)]),
        [["a", "parse", twice], ["b", "parse", deep]]
      )
    }))

  it.effect("that repeat the name take time in proportion to their length", () =>
    Effect.gen(function*() {
      const deltas = [
        { length: 60_000, piece: "abcd" },
        // a text that never becomes JSON, and is at an end after each delta
        { length: 30_000, piece: "\"} {\"" }
      ]
      for (const { length, piece } of deltas) {
        const chunks = [
          call({ index: 0, id: "a" }, "parse", "{\"json\":\""),
          ...Array.from({ length }, () => call({ index: 0, id: "a" }, "parse", piece))
        ]
        const start = process.cpuUsage()
        yield* toolCalls(...chunks.map((delta) => [delta]))
        const used = process.cpuUsage(start)
        assert.isBelow((used.user + used.system) / 1e6, 9, "seconds of CPU")
      }
    }), 60_000)

  const one = (text: string) => `{"json":"${text}"}`

  const long = "x".repeat(80)

  const digits = (length: number) => "1".repeat(length)

  /** Deltas, one a chunk, and the calls that they are. */
  const told: Readonly<Record<string, readonly [ReadonlyArray<Record<string, unknown>>, ReadonlyArray<unknown>]>> = {
    "with ids and no index are told apart by them": [
      [
        call({ id: "a" }, "parse", "{\"json\""),
        call({ id: "b" }, "now", "{"),
        call({ id: "a" }, undefined, ":\"1\"}"),
        call({ id: "b" }, undefined, "}")
      ],
      [["a", "parse", { json: "1" }], ["b", "now", {}]]
    ],
    "with an index, of which some have no id": [
      [
        call({ index: 0 }, "parse", "{\"json\""),
        call({ index: 1 }, "parse", "{\"json\""),
        call({ index: 0 }, undefined, ":\"1\"}"),
        call({ index: 1 }, undefined, ":\"2\"}")
      ],
      [["id_1", "parse", { json: "1" }], ["id_1_2", "parse", { json: "2" }]]
    ],
    "with neither continue the last one": [
      [
        call({}, "now", "{}"),
        call({}, "parse", one("1")),
        call({}, "parse", "{\"json\""),
        call({ index: null, id: null }, undefined, ":\"2\"}")
      ],
      [["id_1", "now", {}], ["id_1_2", "parse", { json: "1" }], ["id_1_3", "parse", { json: "2" }]]
    ],
    "whose id comes late are the same call, where they have an index": [
      [call({ index: 0 }, "now", "{}"), call({ index: 0, id: "a" }, "now", "")],
      [["id_1", "now", {}]]
    ],
    "and another one, where they have none": [
      [call({}, "now", "{}"), call({ id: "a" }, "now", "")],
      [["id_1", "now", {}], ["a", "now", {}]]
    ],
    "whose name comes late, with an id of its own, are the same call": [
      [call({ index: 0, id: "a" }, undefined, "{}"), call({ index: 0, id: "b" }, "now", "")],
      [["a", "now", {}]]
    ],
    "without a function say nothing of another call": [
      [call({ index: 0, id: "a" }, "now", "{}"), { index: 0 }, { index: 0, id: "b", function: null }],
      [["a", "now", {}]]
    ],
    "without arguments behind complete ones say nothing of another call": [
      [
        call({ index: 0, id: "a" }, "now", "{}"),
        call({ index: 0 }, "now", null),
        call({ index: 0 }, "now"),
        call({ index: 0 }, "now", "")
      ],
      [["a", "now", {}]]
    ],
    "of a call with long arguments, and of the same one again": [
      [call({}, "parse", one(long)), call({}, "parse", one(long))],
      [["id_1", "parse", { json: long }], ["id_1_2", "parse", { json: long }]]
    ],
    "of a call with arguments in halves, and of another name": [
      [call({ index: 0 }, "parse", "{"), call({ index: 0 }, "now", "{}")],
      [["id_1", "parse", "{"], ["id_1_2", "now", {}]]
    ],
    "of bare values are complete where they are short": [
      [call({}, "now", digits(63)), call({}, "now", "1")],
      [["id_1", "now", digits(63)], ["id_1_2", "now", 1]]
    ],
    "and not where they are long": [[call({}, "now", digits(64)), call({}, "now", "1")], [[
      "id_1",
      "now",
      digits(65)
    ]]]
  }

  for (const [name, [deltas, expected]] of Object.entries(told)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* toolCalls(...deltas.map((delta) => [delta])), expected as never)
      }))
  }

  it.effect("with arguments before the name lose none of them", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls([call({ index: 0, id: "a" }, undefined, "{\"json\":")], [
          call({ index: 0 }, "parse", "\"1\"}")
        ]),
        [["a", "parse", { json: "1" }]]
      )
    }))

  it.effect("with malformed arguments keep them as text", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* toolCalls(
          [call({ index: 0, id: "a" }, "parse", "{json: 1")],
          [call({ index: 1, id: "b" }, "parse", "\"text\"")],
          [call({ index: 2, id: "c" }, "parse", "{\"__proto__\":{\"x\":1}}")],
          [call({ index: 3, id: "d" }, "now", "null")]
        ),
        [
          ["a", "parse", "{json: 1"],
          ["b", "parse", "\"text\""],
          ["c", "parse", "{\"__proto__\":{\"x\":1}}"],
          ["d", "now", {}]
        ]
      )
    }))

  it.effect("of other choices are not those of the answer", () =>
    Effect.gen(function*() {
      const choice = (index: number, content: string, finish: string | null) => ({
        index,
        delta: { content },
        finish_reason: finish
      })
      const chunks = [
        Server.event({ choices: [choice(0, "mine", null), choice(1, "other", "error")] }),
        Server.event({ choices: [choice(1, "other", "length")] }),
        Server.event({ choices: [choice(0, "", "stop")] }),
        Server.done
      ]
      const { error, parts } = yield* overBytes(chunks.map((chunk) => new TextEncoder().encode(chunk)))
      assert.isUndefined(error)
      assert.strictEqual(parts.map(({ delta }) => delta ?? "").join(""), "mine")
      assert.strictEqual(parts.at(-1)?.reason, "stop")
    }))
})
