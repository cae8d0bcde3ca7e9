/** Arguments that are no JSON: the first mistake, and its position. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool, ToolCall, type ToolError } from "@recourse/core"

const toolOf = <P extends Schema.Top>(parameters: P) =>
  Tool.make("t", { parameters: parameters as unknown as Schema.Struct<{}>, execute: () => Effect.void })

const pay = toolOf(Schema.Struct({ amount: Schema.Number, note: Schema.optionalKey(Schema.String) }))
const anything = toolOf(Schema.Record(Schema.String, Schema.Unknown))

/** The issues of a call by hand; `undefined` if the arguments fit. */
const issuesOf = (tool: typeof pay, args: string) =>
  tool.call.pipe(
    Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: args })),
    Effect.as<ReadonlyArray<ToolError.Issue>>([]),
    Effect.catchTag("InvalidArgs", ({ issues }) => Effect.succeed(issues))
  )

describe("the mistake in a text that is no JSON", () => {
  const cases: Record<string, readonly [text: string, expected: string]> = {
    "an unescaped quote": [
      "{\"note\": \"say \"hi\" now\"}",
      "expected a comma or the end here: a quote within a string is written as \\\" (line 1, column 16)"
    ],
    "a raw line break": [
      "{\n  \"note\": \"a\nb\"}",
      "expected a line break within a string to be written as \\n (line 2, column 13)"
    ],
    "a comma behind the last field": ["{\"amount\": 1,\n}", "expected no comma before } (line 2, column 1)"],
    "a comma behind the last item": ["{\"note\": [1, 2,]}", "expected no comma before ] (line 1, column 16)"],
    "an object that is not closed": [
      "{\"amount\": {\"a\": 1}",
      "expected one complete JSON object: the text is cut off (line 1, column 20)"
    ],
    "a string that is cut off": [
      "{\"note\": \"abc",
      "expected one complete JSON object: the text is cut off (line 1, column 14)"
    ],
    "a word that is cut off": [
      "{\"note\": tru",
      "expected one complete JSON object: the text is cut off (line 1, column 13)"
    ],
    "two objects": [
      "{\"amount\": 1}\n{\"amount\": 2}",
      "expected one JSON object: a second one begins here (line 2, column 1)"
    ],
    "text behind the object": [
      "{\"amount\": 1} Done.",
      "expected one JSON object: there is more text behind it (line 1, column 15)"
    ],
    "text before the object": [
      "Sure: {\"amount\": 1}",
      "expected one JSON object, from { to }, without other text (line 1, column 1)"
    ],
    "no text": [" ", "expected one JSON object: the text is empty"],
    "a key twice": ["{\"amount\": 1, \"amount\": 2}", "expected the key \"amount\" once (line 1, column 15)"],
    "a key twice, further within": [
      "{\"note\": {\"x\": {\"a:b\": 1, \"a:b\": 1}}}",
      "expected the key \"a:b\" once (line 1, column 27)"
    ],
    "a key of prototypes": ["{\"__proto__\": {}}", "expected no key \"__proto__\" (line 1, column 2)"],
    "a prototype within a constructor": [
      "{\"constructor\":{\"prototype\":{}}}",
      "expected no key \"__proto__\", and no \"prototype\" within \"constructor\""
    ],
    "a missing comma": [
      "{\"amount\": 1 \"note\": \"x\"}",
      "expected a comma here, or a closing bracket (line 1, column 14)"
    ],
    "a missing value": ["{\"amount\": }", "expected a value (line 1, column 12)"],
    "a missing item": ["{\"note\": [,1]}", "expected a value (line 1, column 11)"],
    "an empty array and object": ["{\"note\": [[], {}], }", "expected no comma before } (line 1, column 20)"],
    "a missing colon": ["{\"amount\" 1}", "expected a colon behind the key (line 1, column 11)"],
    "a key without quotes": ["{amount: 1}", "expected a key in double quotes (line 1, column 2)"],
    "single quotes": ["{\"note\": 'x'}", "expected double quotes around strings (line 1, column 10)"],
    "a comment": ["{\"amount\": 1, // one\n}", "expected no comments (line 1, column 15)"],
    "a word of Python": [
      "{\"note\": None}",
      "expected a value of JSON: a string, a number, true, false, null, an object or an array (line 1, column 10)"
    ],
    "a number as JSON does not write it": [
      "{\"amount\": 01}",
      "expected a number as JSON writes it (line 1, column 12)"
    ],
    "an escape that JSON does not have": [
      "{\"note\": \"\\d\"}",
      "expected a backslash to be written as \\\\: this escape is none of JSON (line 1, column 11)"
    ],
    "another bracket": ["{\"note\": [1}}", "expected ] here (line 1, column 12)"],
    "two texts": ["{\"note\": \"a\"\"b\"}", "expected a comma here, or a closing bracket (line 1, column 13)"],
    "a word behind a number": ["{\"amount\": 1 x}", "expected a comma here, or a closing bracket (line 1, column 14)"],
    "a second comma": ["{\"amount\": 1,, \"b\": 2}", "expected no second comma (line 1, column 14)"],
    "a comment in place of a key": ["{# one\n}", "expected no comments (line 1, column 2)"],
    "an escape of three digits": [
      "{\"a\":\"\\u12\"}",
      "expected four hexadecimal digits behind \\u (line 1, column 7)"
    ],
    "an escape of other digits": [
      "{\"a\":\"\\u12x4 and more\"}",
      "expected four hexadecimal digits behind \\u (line 1, column 7)"
    ],
    "an escape of three digits, beside a whole one": [
      "{\"a\":\"\\u12\",\"b\":\"\\u00e9\"}",
      "expected four hexadecimal digits behind \\u (line 1, column 7)"
    ],
    "an escape that is cut off": [
      "{\"a\":\"\\u12\"",
      "expected one complete JSON object: the text is cut off (line 1, column 12)"
    ],
    "another line break": [
      "{\"note\": \"a\rb\"}",
      "expected a line break within a string to be written as \\n (line 1, column 12)"
    ],
    "a control character": [
      "{\"note\": \"a\tb\"}",
      "expected a control character within a string to be escaped, as \\t or \\u0000 (line 1, column 12)"
    ],
    "what stands behind words and numbers of each form": [
      "{\"a\":[true,false,null,-0.25,10,1e5,2E+10,3e-12],}",
      "expected no comma before } (line 1, column 49)"
    ],
    "what stands behind escapes of each form": [
      "{\"a\":\"\\u00e9\\uABCD\\\"\\\\\\/\\b\\f\\n\\r\\t\",}",
      "expected no comma before } (line 1, column 37)"
    ],
    "a string that is cut off behind a backslash": [
      "{\"a\":\"x\\",
      "expected one complete JSON object: the text is cut off (line 1, column 9)"
    ],
    "a key that is cut off": ["{\"am", "expected one complete JSON object: the text is cut off (line 1, column 5)"],
    "an escape that JSON does not have, in a key": [
      "{\"a\\d\":1}",
      "expected a backslash to be written as \\\\: this escape is none of JSON (line 1, column 4)"
    ],
    "a long number with a point and no digit behind it": [
      "{\"a\":12345678901.x}",
      "expected a number as JSON writes it (line 1, column 6)"
    ],
    ...Object.fromEntries(
      ["// x", "/* x */ 1", "# x"].map((value) => [
        `a comment: ${value}`,
        [`{"a":${value}`, "expected no comments (line 1, column 6)"] as const
      ])
    ),
    ...Object.fromEntries(
      ["NaN", "Infinity", "-Infinity", "+Infinity", "undefined", "True", "False", "None"].map((value) => [
        `a value of another language: ${value}`,
        [
          `{"a":${value}}`,
          "expected a value of JSON: a string, a number, true, false, null, an object or an array (line 1, column 6)"
        ] as const
      ])
    ),
    ...Object.fromEntries(
      [
        "t",
        "tr",
        "tru",
        "f",
        "fa",
        "fal",
        "fals",
        "n",
        "nu",
        "nul",
        "-",
        "1.",
        "12.",
        "-1.",
        "1e",
        "1E+",
        "1.5e-",
        "12"
      ]
        .map((value) => [
          `a value that is cut off: ${value}`,
          [
            `{"a":${value}`,
            `expected one complete JSON object: the text is cut off (line 1, column ${6 + value.length})`
          ] as const
        ])
    ),
    ...Object.fromEntries(
      ["xtru", "trux", "x1.", "x// y", "x# y", "xNaN", "/x"].map((value) => [
        `what is no value: ${value}`,
        [`{"a":${value}`, "expected a value (line 1, column 6)"] as const
      ])
    ),
    ...Object.fromEntries(
      ["1.x", "-x", "+1", ".5", "1e+x", "0x1"].map((value) => [
        `what is no number: ${value}`,
        [`{"a":${value}}`, "expected a number as JSON writes it (line 1, column 6)"] as const
      ])
    )
  }
  for (const [name, [text, expected]] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* issuesOf(pay, text), [{ path: [], expected, problem: "syntax" }])
      }))
  }

  it.effect("reports a mistake exactly for texts that do not parse", () =>
    Effect.gen(function*() {
      const pieces = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        ":",
        ",",
        "\"a\"",
        "\"b\":",
        "1",
        "-",
        "0.5e3",
        " ",
        "\n",
        "true",
        "nul",
        "é",
        "\ud83d",
        "\\u00e9",
        "\t"
      ]
      let seed = 11
      const next = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n
      for (let i = 0; i < 1_000; i++) {
        const text = `{${Array.from({ length: next(12) }, () => pieces[next(pieces.length)]).join("")}${
          next(3) === 0 ? "" : "}"
        }`
        let isObject = true
        try {
          JSON.parse(text)
        } catch {
          isObject = false
        }
        const issues = yield* issuesOf(anything, text)
        // A duplicate key parses as well.
        if (issues.length === 0 || !/ once \(/.test(issues[0]!.expected)) {
          assert.strictEqual(issues.length === 0, isObject, text)
        }
        assert.notInclude(JSON.stringify(issues), "__proto__\", and no", text)
      }
    }))
})
