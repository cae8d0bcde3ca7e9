/** Results by their own interface: audit, events and the model's view of each. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Prompt } from "effect/ai"
import { Audit, Catalogue, Quarantine } from "@recourse/core"
import { openRun } from "../support/openRun.ts"

const room = new URL("../../src/internal/result/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

type Fields = Readonly<Record<string, unknown>>

const { announce, announcePending }: {
  readonly announce: (run: object, result: object) => Effect.Effect<void>
  readonly announcePending: (run: object, pending: object) => Effect.Effect<void>
} = await load("announce.ts")
const { deliver }: {
  readonly deliver: (
    presentation: object,
    run: object,
    info: object | undefined,
    result: object,
    read?: ReadonlyArray<string>
  ) => Effect.Effect<Fields>
} = await load("delivery.ts")

const { denied: deniedAs }: { readonly denied: (id: string, user: (code: string) => string) => Fields } = await import(
  new URL("../projection/failures.ts", room).href
) as never

/** A run, its events, and its audit. */
const runOf = (more: Fields = {}) => {
  const told: Array<Fields> = []
  const audited: Array<Fields> = []
  const run = openRun({
    id: "r",
    agentRunId: "r",
    path: ["a"],
    taintedBy: [],
    clock: { currentTimeMillisUnsafe: () => 0 },
    audience: {
      sinks: [{ emit: (event: Fields) => (told.push(event), Effect.void) }],
      emitted: { events: 0, isOver: false },
      details: false
    },
    ...more
  })
  const withAudit = Effect.provideService(
    Audit.Audit,
    (record: object) => Effect.sync(() => void audited.push(record as Fields))
  )
  const without = (events: ReadonlyArray<Fields>, names: ReadonlyArray<string>) =>
    events.map((event) => Object.fromEntries(Object.entries(event).filter(([name]) => !names.includes(name))))
  return {
    run,
    withAudit,
    events: () => without(told, ["runId", "agentRunId", "path", "sequence", "at", "parent"]),
    records: () => without(audited, ["referenceId", "at", "runId", "path", "argumentsHash"])
  }
}

const failed = (code: string, more: Fields = {}) => ({
  call: { id: "c1", name: "book", params: { n: 1 } },
  isFailure: true,
  encoded: { status: "error", code, message_for_model: "m", message_for_user: "u", ...more },
  modelOutput: undefined,
  repaired: undefined
})

const done = (more: Fields = {}) => ({
  call: { id: "c1", name: "book", params: { n: 1 } },
  isFailure: false,
  encoded: "ok",
  modelOutput: undefined,
  repaired: undefined,
  ...more
})

const result = { _tag: "ToolResult", callId: "c1", tool: "book" }
const record = { tool: "book", callId: "c1", security: false }

describe("the event of a result", () => {
  it.effect.each<readonly [string, Fields, ReadonlyArray<Fields>, ReadonlyArray<Fields>]>([
    ["of a success, as it is", done(), [{ ...result, isFailure: false, result: "ok" }], []],
    [
      "whole, where the model is given its beginning, and with its mark",
      done({ whole: "okay", degraded: { source: "cache" } }),
      [{ ...result, isFailure: false, degraded: { source: "cache" }, result: "okay" }],
      []
    ],
    [
      "of a failure, with what is for the user",
      failed("upstream_error"),
      [{
        ...result,
        isFailure: true,
        code: "upstream_error",
        userMessage: "u",
        result: failed("upstream_error").encoded
      }],
      []
    ],
    [
      "with the time to wait",
      failed("rate_limited", { retry_after_ms: 5 }),
      [{
        ...result,
        isFailure: true,
        code: "rate_limited",
        userMessage: "u",
        retryAfter: 5,
        result: failed("rate_limited", { retry_after_ms: 5 }).encoded
      }],
      []
    ],
    [
      "of a task that continues, with its id",
      done({ pendingOf: "book", encoded: { task_id: "t" } }),
      [
        { _tag: "ToolPending", callId: "c1", tool: "book", taskId: "t" },
        { ...result, isFailure: false, result: { task_id: "t" } }
      ],
      []
    ],
    [
      "as denied by a policy",
      failed("permission_denied"),
      [{
        ...result,
        isFailure: true,
        code: "permission_denied",
        userMessage: "u",
        deniedBy: "policy",
        result: failed("permission_denied").encoded
      }],
      [{ ...record, decision: "denied" }]
    ],
    [
      "as denied by a person",
      { ...failed("permission_denied"), verdict: { decision: "rejected", by: "ada", reason: "no", security: true } },
      [{
        ...result,
        isFailure: true,
        code: "permission_denied",
        userMessage: "u",
        deniedBy: "person",
        result: failed("permission_denied").encoded
      }],
      [{ ...record, decision: "rejected", by: "ada", reason: "no", security: true }]
    ],
    [
      "to the audit where nobody knows what happened",
      failed("outcome_unknown"),
      [{
        ...result,
        isFailure: true,
        code: "outcome_unknown",
        userMessage: "u",
        result: failed("outcome_unknown").encoded
      }],
      [{ ...record, decision: "outcome_unknown" }]
    ],
    [
      "to the audit of the call that was decided about",
      { ...done(), verdict: { decision: "substituted", of: { id: "c1/c2", tool: "pay", args: {} } } },
      [{ ...result, isFailure: false, result: "ok" }],
      [{ tool: "pay", callId: "c1/c2", security: false, decision: "substituted" }]
    ]
  ])("%s", ([_, given, events, records]) =>
    Effect.gen(function*() {
      const at = runOf()
      yield* at.withAudit(announce(at.run, given))
      assert.deepStrictEqual(at.events(), events)
      assert.deepStrictEqual(at.records(), records)
      // A run without listeners has the same audit.
      const quiet = runOf({ audience: undefined })
      yield* quiet.withAudit(announce(quiet.run, given))
      assert.deepStrictEqual(quiet.events(), [])
      assert.deepStrictEqual(quiet.records(), records)
    }))
})

describe("the event of a waiting call", () => {
  const pending = {
    callId: "c2",
    tool: "book",
    arguments: { n: 1 },
    code: "approval_required",
    reasons: [],
    requestedAt: 0,
    expiresAt: 9
  }
  const told = { ...pending, _tag: "ApprovalRequested", arguments: "{\"n\":1}" }
  const asked = { tool: "book", callId: "c2", decision: "approval_requested", security: false }
  const outer = openRun({ agentRunId: "o" })
  it.effect.each<readonly [string, Fields, Fields, Fields, Fields]>([
    ["with the id to decide by", {}, pending, { ...told, pendingCallId: "c2" }, asked],
    [
      "with the reasons of those who ask, as one",
      {},
      { ...pending, reasons: ["much", "late"] },
      { ...told, reasons: ["much", "late"], pendingCallId: "c2" },
      { ...asked, reason: "much; late" }
    ],
    [
      "as asked again, where the first approval has expired",
      {},
      { ...pending, code: "approval_expired" },
      { ...told, code: "approval_expired", pendingCallId: "c2" },
      { ...asked, decision: "approval_expired" }
    ],
    ["as one for security in a tainted run", { taintedBy: ["web"] }, pending, { ...told, pendingCallId: "c2" }, {
      ...asked,
      security: true
    }],
    [
      "by its id at the outermost agent",
      { outerCall: { id: "c1" }, parent: openRun({ agentRunId: "o", outerCall: { id: "c0" }, parent: outer }) },
      pending,
      { ...told, pendingCallId: "c0/c1/c2" },
      asked
    ],
    [
      "of an agent that no call runs, by its own id",
      { parent: outer },
      pending,
      { ...told, pendingCallId: "c2" },
      asked
    ]
  ])("%s", ([_, more, given, event, audited]) =>
    Effect.gen(function*() {
      const at = runOf(more)
      yield* at.withAudit(announcePending(at.run, given))
      assert.deepStrictEqual(at.events(), [event])
      assert.deepStrictEqual(at.records(), [audited])
    }))
})

describe("the model's view", () => {
  const presentation = {
    resultLimit: 10,
    redactor: { results: false, text: (text: string) => text.replaceAll("7", "*") },
    guard: undefined,
    user: (code: string) => Catalogue.en[code as keyof typeof Catalogue.en],
    capture: false
  }
  const info = { name: "look", results: { areUntrusted: false } }
  const outside = { name: "web", results: { areUntrusted: true } }
  const wrapped = (source: string, content: unknown) => ({
    untrusted: true,
    source,
    call_id: "c1",
    trace_id: "r",
    notice: Quarantine.notice,
    content
  })
  const shown = (of: object | undefined, given: object, read?: ReadonlyArray<string>, more: object = {}) =>
    Effect.map(deliver({ ...presentation, ...more }, { id: "r" }, of, given, read), (all) => {
      const { call: _, isFailure: __, repaired: ___, ...rest } = all
      return rest
    })
  const plain = { encoded: "ok", modelOutput: undefined }

  it.effect("of a trusted tool is its result, the same value", () =>
    Effect.gen(function*() {
      const given = done()
      assert.strictEqual(yield* deliver(presentation, { id: "r" }, info, given), given as Fields)
    }))

  it.effect("of untrusted results is an envelope that names each source once", () =>
    Effect.gen(function*() {
      const of = (sources: ReadonlyArray<string>) => ({
        ...plain,
        taints: sources,
        encoded: wrapped(sources.join(", "), "ok")
      })
      assert.deepStrictEqual(yield* shown(outside, done()), of(["web"]))
      assert.deepStrictEqual(yield* shown(info, done(), ["web"]), of(["web"]))
      assert.deepStrictEqual(yield* shown(outside, done(), ["mail"]), of(["web", "mail"]))
      assert.deepStrictEqual(yield* shown(outside, done(), ["mail", "web"]), of(["mail", "web"]))
      assert.deepStrictEqual(yield* shown(undefined, done(), ["mail"]), of(["mail"]))
      assert.deepStrictEqual(yield* shown(undefined, done()), plain)
    }))

  it.effect("of a long result is its beginning; listeners have the whole", () =>
    Effect.gen(function*() {
      const long = done({ encoded: "12345678901" })
      const { encoded, whole } = yield* shown(info, long)
      assert.deepInclude(encoded as Fields, { status: "truncated", content: "1234567890…" })
      assert.strictEqual(whole, "12345678901")
      const tainted = yield* shown(outside, long)
      assert.deepInclude((tainted["encoded"] as Fields)["content"] as Fields, { content: "1234567890…" })
      assert.deepStrictEqual(tainted["whole"], wrapped("web", "12345678901"))
      assert.deepStrictEqual(yield* shown({ ...info, results: { areUntrusted: false, limit: 11 } }, long), {
        ...plain,
        encoded: "12345678901"
      })
      assert.notProperty(yield* shown(info, done({ encoded: "1234567" })), "whole")
    }))

  it.effect("of a pending task is never cut, and names its source", () =>
    Effect.gen(function*() {
      const encoded = { task_id: "a-long-task-id", status: "pending" }
      const task = done({ encoded, pendingOf: "look" })
      assert.deepStrictEqual(yield* shown(info, task), { ...plain, encoded, pendingOf: "look" })
      assert.deepStrictEqual(yield* shown(outside, task), {
        ...plain,
        pendingOf: "look",
        taints: ["web"],
        encoded: { ...encoded, untrusted: "web" }
      })
    }))

  it.effect("of a degraded answer has the mark next to it, redacted", () =>
    Effect.gen(function*() {
      const degraded = { source: "cache *" }
      assert.deepStrictEqual(yield* shown(info, done({ degraded: { source: "cache 7" } })), {
        ...plain,
        degraded,
        encoded: { degraded, result: "ok" }
      })
    }))

  it.effect("of parts is between unforgeable lines, redacted like results", () =>
    Effect.gen(function*() {
      const modelOutput = [Prompt.textPart({ text: "room 7" })]
      const texts = (all: Fields) =>
        (all["modelOutput"] as ReadonlyArray<{ readonly text: string }>).map(({ text }) => text)
      const redactor = { ...presentation.redactor, results: true }
      assert.deepStrictEqual(texts(yield* shown(info, done({ modelOutput }))), ["room 7"])
      assert.deepStrictEqual(texts(yield* shown(info, done({ modelOutput }), [], { redactor })), ["room *"])
      const [begins = "", said, ends = ""] = texts(yield* shown(outside, done({ modelOutput })))
      const id = begins.split(": ").at(-1)!
      assert.isAbove(id.length, 10)
      assert.deepStrictEqual(
        [begins, said, ends],
        [
          `${Quarantine.notice} Source: web. The content begins here: ${id}`,
          "room 7",
          `The content from outside ends here: ${id}`
        ]
      )
    }))

  it.effect("passes the guard, which knows the source; blocked becomes a reference", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const guard = (all: { readonly content: unknown }) => {
        asked.push(all)
        return all.content === "ok" ? Effect.void : Effect.fail({ category: "injection" })
      }
      yield* shown(info, done(), [], { guard })
      yield* shown(outside, done(), ["mail"], { guard })
      assert.deepStrictEqual(asked, [
        { tool: "look", callId: "c1", trust: "trusted", content: "ok" },
        { tool: "web", callId: "c1", trust: "untrusted", content: "ok" }
      ])
      const blocked = yield* shown(info, done({ encoded: "no", modelOutput: [] }), [], { guard })
      assert.deepStrictEqual((asked.at(-1) as Fields)["content"], { result: "no", modelOutput: [] })
      const { encoded, verdict } = blocked as { readonly encoded: Fields; readonly verdict: Fields }
      assert.deepInclude(encoded, { code: "unsafe_output", trace_id: "r" })
      assert.deepInclude(verdict, { decision: "blocked", by: "injection", security: true })
      assert.isString(verdict["referenceId"])
      // Text of this library alone: the guard is not called.
      assert.deepStrictEqual(yield* shown(undefined, done({ encoded: "no" }), [], { guard }), {
        ...plain,
        encoded: "no"
      })
      assert.strictEqual(asked.length, 3)
    }))

  it.effect("of a failure in this library's words bypasses the guard", () =>
    Effect.gen(function*() {
      const guard = () => Effect.fail({ category: "injection" })
      const denied = deniedAs("r", presentation.user)
      const kept = yield* shown(info, { ...done(), isFailure: true, encoded: denied }, [], { guard })
      assert.deepStrictEqual(kept["encoded"], denied)
    }))

  it.effect("of a failure in an untrusted tool's words names the tool", () =>
    Effect.gen(function*() {
      const said = failed("not_found", { message_for_model: "room 7" })
      const expected = { ...said.encoded, message_for_model: "room *" }
      assert.deepStrictEqual((yield* shown(info, said))["encoded"], expected)
      assert.deepStrictEqual(yield* shown(outside, said), {
        modelOutput: undefined,
        taints: ["web"],
        encoded: { ...expected, untrusted: "web" }
      })
    }))
})
