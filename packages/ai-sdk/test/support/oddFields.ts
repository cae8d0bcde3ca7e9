/** Parts of answers, and the same parts with another kind of value in each field. */

type Part = Readonly<Record<string, unknown>>

const providerMetadata = { anthropic: { signature: "s" } }
const png = "iVBORw0KGgo="

/** Parts of a whole answer that are also parts of a stream. */
const shared: ReadonlyArray<Part> = [
  { type: "tool-result", toolCallId: "c", toolName: "look", result: { a: 1 }, isError: false, preliminary: false },
  { type: "source", sourceType: "url", id: "s", url: "https://a.example/", title: "T", providerMetadata },
  { type: "source", sourceType: "document", id: "s", mediaType: "text/plain", title: "T", filename: "f" },
  { type: "file", mediaType: "image/png", data: { type: "data", data: png }, providerMetadata },
  { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://a.example/") } },
  { type: "file", mediaType: "image/png", data: png }
]

/** Parts of a whole answer, which leave its text as it is. */
export const contents: ReadonlyArray<Part> = [
  { type: "text", text: "", providerMetadata, citations: [{ source: shared[1] }] },
  { type: "reasoning", text: "Hm", providerMetadata },
  ...shared
]

/** Parts of a stream, which leave its text as it is. */
export const streamed: ReadonlyArray<ReadonlyArray<Part>> = [
  [
    { type: "text-start", id: "1", providerMetadata },
    { type: "text-delta", id: "1", delta: "", providerMetadata },
    { type: "text-end", id: "1", providerMetadata, citations: [{ source: shared[1] }] }
  ],
  [
    { type: "reasoning-start", id: "1", providerMetadata },
    { type: "reasoning-delta", id: "1", delta: "Hm", providerMetadata },
    { type: "reasoning-end", id: "1", providerMetadata }
  ],
  [{ type: "stream-start", warnings: [{ type: "other", message: "m" }] }],
  [{ type: "response-metadata", id: "r", timestamp: new Date(0), modelId: "m" }],
  [{ type: "raw", rawValue: 1 }],
  ...shared.map((part) => [part])
]

/** Parts by which an answer is about a call. */
export const calls: ReadonlyArray<ReadonlyArray<Part>> = [
  [
    { type: "tool-input-start", id: "c", toolName: "look", providerExecuted: false, providerMetadata },
    { type: "tool-input-delta", id: "c", delta: "{}", providerMetadata },
    { type: "tool-input-end", id: "c", providerMetadata },
    { type: "tool-call", toolCallId: "c", toolName: "look", input: "{}", providerMetadata, providerExecuted: false }
  ],
  [{ type: "tool-approval-request", approvalId: "a", toolCallId: "c", providerMetadata }]
]

const values: ReadonlyArray<readonly [name: string, value: unknown]> = [
  ["null", null],
  ["undefined", undefined],
  ["0", 0],
  ["NaN", Number.NaN],
  ["an empty text", ""],
  ["a text", "x"],
  ["true", true],
  ["a list", []],
  ["a list of null", [null]],
  ["an object", {}],
  ["an object of null", { a: null }],
  ["a symbol", Symbol("s")],
  ["a bigint", 5n],
  ["a function", () => 1],
  ["an invalid date", new Date(Number.NaN)],
  ["a date as text", "2026-01-02T03:04:05.678Z"]
]

const isFields = (value: unknown): value is Part =>
  typeof value === "object" && value !== null &&
  [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value))

/** The part with each other value in each field, also in the fields of its objects. */
export const variants = function*(part: Part): Generator<readonly [name: string, part: Part]> {
  for (const [field, own] of Object.entries(part)) {
    if (field === "type" && !("unified" in part)) continue
    for (const [name, value] of values) yield [`${field} ${name}`, { ...part, [field]: value }]
    if (!isFields(own)) continue
    for (const [name, value] of variants(own)) {
      yield [`${field}.${name}`, { ...part, [field]: Array.isArray(own) ? Object.values(value) : value }]
    }
  }
}
