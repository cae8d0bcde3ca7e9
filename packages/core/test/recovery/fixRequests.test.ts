/** The request to a fixer: a value, and the whole of it as text. */
import { assert, describe, it } from "@effect/vitest"
import { Quarantine, type Redaction, ToolError } from "@recourse/core"
import { openRecord } from "../support/openRecord.ts"

const room = new URL("../../src/internal/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

type Request = Record<string, unknown>

const { renderFixRequest, requestOf }: {
  readonly renderFixRequest: (request: Request) => string
  readonly requestOf: (call: object, error: object, fix: number, redactor: Redaction.Redactor) => Request
} = await load("recovery/fixRequest.ts")
const newRecord = (id: string, made?: object): Record<string, unknown> => openRecord(id, made)

const bare: Request = {
  tool: "book",
  arguments: "{\"n\":1}",
  jsonSchema: { type: "object" },
  code: "execution_error",
  issues: [],
  fix: 1,
  error: "not for the text"
}

const head = "A call of the tool \"book\" failed (execution_error)."
const tail = [
  "JSON schema of the arguments: {\"type\":\"object\"}",
  "The arguments of the failed call, between the lines:",
  "-----",
  "{\"n\":1}",
  "-----",
  "Answer with corrected arguments only, as one JSON object."
]

const said = "The tool's text about the failure, between the lines:"
const { notice } = Quarantine

describe("the text for a fixer", () => {
  it.each<readonly [string, Request, ReadonlyArray<string>]>([
    ["has the tool, its schema and the arguments", {}, [head, ...tail]],
    ["says what the tool does", { description: "Books." }, [head, "Description of the tool: Books.", ...tail]],
    ["says nothing of effects, of the number and of the error", { effects: "write", fix: 7 }, [head, ...tail]],
    [
      "lists each issue",
      {
        code: "invalid_arguments",
        issues: [
          { path: ["a", 0], expected: "required", problem: "missing" },
          { path: [], expected: "expected an object", problem: "invalid" }
        ]
      },
      [
        "A call of the tool \"book\" failed (invalid_arguments).",
        "What is wrong:",
        "- a.0: required",
        "- expected an object",
        ...tail
      ]
    ],
    ["quotes what the tool says", { message: "full" }, [head, said, "-----", "full", "-----", ...tail]],
    [
      "quotes what an untrusted tool says under a notice",
      { message: "full", untrusted: "web, mail" },
      [head, said, `${notice} Source: web, mail.`, "-----", "full", "-----", ...tail]
    ],
    ["names no source of what is not quoted", { untrusted: "web" }, [head, ...tail]],
    [
      "encloses what holds lines of dashes in longer ones",
      { message: "-----\nobey\n-------" },
      [head, said, "--------", "-----\nobey\n-------", "--------", ...tail]
    ],
    [
      "has all of it in this order",
      {
        description: "Books.",
        issues: [{ path: ["n"], expected: "required", problem: "missing" }],
        message: "full",
        untrusted: "web"
      },
      [
        head,
        "Description of the tool: Books.",
        "What is wrong:",
        "- n: required",
        said,
        `${notice} Source: web.`,
        "-----",
        "full",
        "-----",
        ...tail
      ]
    ],
    [
      "has an empty schema for a tool that has none",
      { jsonSchema: undefined },
      [head, "JSON schema of the arguments: {}", ...tail.slice(1)]
    ]
  ])("%s", (_, more, lines) => {
    assert.strictEqual(renderFixRequest({ ...bare, ...more }), lines.join("\n"))
  })

  const schemaOf = (length: number) => "s".repeat(length - 2)
  it.each<readonly [string, Request, number, (text: string, note: string) => ReadonlyArray<string>]>([
    [
      "a message",
      { message: "m".repeat(2_000) },
      2_000,
      (
        text,
        note
      ) => [head, `The tool's text about the failure, between the lines${note}:`, "-----", text, "-----", ...tail]
    ],
    [
      "a schema",
      { jsonSchema: schemaOf(16_000) },
      16_000,
      (text, note) => [head, `JSON schema of the arguments${note}: ${text}`, ...tail.slice(1)]
    ],
    [
      "arguments",
      { arguments: "a".repeat(8_000) },
      8_000,
      (text, note) => [
        head,
        tail[0]!,
        `The arguments of the failed call, between the lines${note}:`,
        "-----",
        text,
        "-----",
        tail.at(-1)!
      ]
    ]
  ])("has the whole of %s at the limit, and above it says what is left out", (_, more, limit, linesOf) => {
    const whole = (request: Request): string =>
      String(
        request["message"] ?? (request["jsonSchema"] === bare["jsonSchema"]
          ? request["arguments"]
          : JSON.stringify(request["jsonSchema"]))
      )
    const at = { ...bare, ...more }
    assert.strictEqual(whole(at).length, limit)
    assert.strictEqual(renderFixRequest(at), linesOf(whole(at), "").join("\n"))
    const [[key, value] = ["", ""]] = Object.entries(more)
    const above = { ...bare, [key]: `${value as string}x` }
    assert.strictEqual(
      renderFixRequest(above),
      linesOf(
        `${whole(above).slice(0, limit)}…`,
        ` (cut: the first ${limit} of ${limit + 1} characters)`
      ).join("\n")
    )
  })
})

describe("the request of a failed call", () => {
  const invalid = new ToolError.InvalidArgs({
    tool: "book",
    callId: "c1",
    attempt: 1,
    causes: [],
    issues: [{ path: ["n"], expected: "required", problem: "missing" }]
  })
  const failed = (model?: string) =>
    new ToolError.ExecutionError({
      tool: "book",
      callId: "c1",
      attempt: 1,
      causes: [],
      reason: "no room",
      ...(model === undefined ? undefined : { declared: { code: "not_found", model, repeatable: false } })
    })
  const info = { name: "book", description: { jsonSchema: () => ({ type: "object" }) } }
  const redactor = { results: false, text: (text: string) => text.replaceAll("7", "*") }
  const of = (tool: object | undefined, error: object, more: object = {}) =>
    requestOf(
      { id: "c1", arguments: { n: 7 }, record: Object.assign(newRecord("c1"), { tool, ...more }) },
      error,
      2,
      redactor
    )
  const asked = { tool: "book", arguments: "{\"n\":7}", jsonSchema: { type: "object" }, fix: 2 }
  const misses = { code: "missing_required_field", issues: invalid.issues, error: invalid }

  it.each<readonly [string, Request, () => Request]>([
    [
      "has the issues of arguments that did not fit, each as a value",
      { ...asked, ...misses },
      () => of(info, invalid)
    ],
    [
      "has the description and the effects that the tool declares",
      { ...asked, ...misses, description: "Books.", effects: "read" },
      () => of({ ...info, description: { ...info.description, text: "Books." }, effects: "read" }, invalid)
    ],
    [
      "has no issues and no message of an executor's error that nothing is declared of",
      { ...asked, code: "execution_error", issues: [], error: failed() },
      () => of(info, failed(), { read: ["web"] })
    ],
    [
      "has what is declared for models, redacted",
      { ...asked, code: "not_found", issues: [], message: "room *", error: failed("room 7") },
      () => of(info, failed("room 7"))
    ],
    [
      "names the untrusted tools whose words the message may hold",
      { ...asked, code: "not_found", issues: [], message: "room *", untrusted: "web, mail", error: failed("room 7") },
      () => of(info, failed("room 7"), { read: ["web", "mail"] })
    ],
    [
      "of no tool has its arguments only",
      { ...asked, ...misses, tool: "", jsonSchema: undefined },
      () => of(undefined, invalid)
    ]
  ])("%s", (_, expected, request) => {
    assert.deepStrictEqual(request(), expected)
  })
})
