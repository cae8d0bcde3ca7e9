import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted, Stream } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { ErrorProjection, ProviderResponse, TransportRetry } from "@recourse/core"
import { expect } from "vitest"
import { generate, key, model, observe, stream } from "../support/harness.ts"
import { printsOf } from "../../../../test/support/prints.ts"
import * as Server from "../support/server.ts"
import type { Fault, Mode } from "../support/wireFault.ts"
import { bodyFaults } from "../support/bodyFaults.ts"
import { connectionFaults } from "../support/connectionFaults.ts"

const faults: ReadonlyArray<Fault> = [...connectionFaults, ...bodyFaults]

const run = (fault: Fault, mode: Mode) =>
  Effect.gen(function*() {
    const server = yield* Server.make(...fault.replies(mode))
    let waits = 0
    const call: Stream.Stream<unknown, AiError.AiError, LanguageModel.LanguageModel> = mode === "stream" ?
      stream() :
      Stream.unwrap(
        Effect.map(generate(), (response) => Stream.fromIterable(response.content))
      )
    const { error, parts } = yield* observe(call).pipe(
      Effect.provide(model(`${server.url}?key=QUERY-OF-THE-URL`, fault.options)),
      Effect.provideService(TransportRetry.Observer, () =>
        Effect.sync(() => {
          waits++
        }))
    )
    assert.strictEqual(error?.reason._tag, fault.reason, `${mode}: ${error?.message}`)
    assert.strictEqual(error?.isRetryable, fault.retryable, mode)
    assert.deepStrictEqual(
      error?.retryAfter && Duration.toMillis(error.retryAfter),
      fault.retryAfter === undefined ? undefined : Duration.toMillis(Duration.fromInputUnsafe(fault.retryAfter)),
      mode
    )
    assert.strictEqual(server.requests.length, fault.requests, mode)
    // Each request but the first, and but the one with inline tools, was waited for by the transport.
    assert.strictEqual(waits, fault.requests - 1 - (fault.fault.startsWith("native tools") ? 1 : 0), mode)
    fault.check?.({ error, parts, bodies: server.requests.map(({ body }) => body) })
    if (error !== undefined) {
      for (const secret of [key, "PROSE-OF-THE-SERVER", "half"]) {
        assert.notInclude(error.message, secret)
        assert.notInclude(error.reason.message, secret)
      }
      const prints = yield* printsOf(error)
      for (const print of prints) {
        for (const secret of [key, "PROSE-OF-THE-SERVER", "QUERY-OF-THE-URL"]) assert.notInclude(print, secret)
      }
      const body = ProviderResponse.bodyOf(error)
      if (body !== undefined) assert.notInclude(Redacted.value(body), key)
    }
    const [first, ...again] = server.requests.map(({ body }) => JSON.stringify(body))
    return { error, host: new URL(server.url).host, isSameRequest: again.every((body) => body === first) }
  })

const printMessage = (error: AiError.AiError, host: string): string =>
  error.reason.message
    .replaceAll(host, "HOST")
    .replaceAll(/\(E[A-Z_]+\)/g, "(CODE)")
    .replaceAll(/\s+/g, " ")
    .replaceAll("|", "\\|")

const kept = (error: AiError.AiError | undefined): string => {
  if (error === undefined) return "–"
  const response = "http" in error.reason ? error.reason.http?.response : undefined
  const body = ProviderResponse.bodyOf(error)
  const all = [
    ...(response === undefined ? [] : [`status ${response.status}, headers`]),
    ...(body === undefined ? [] : ["body"])
  ]
  return all.length === 0 ? "–" : all.join(", ")
}

const rowOf = (fault: Fault) =>
  Effect.gen(function*() {
    const modes: ReadonlyArray<Mode> = fault.in === undefined ? ["whole", "stream"] : [fault.in]
    const outcomes = yield* Effect.forEach(modes, (mode) => run(fault, mode))
    const { error, host } = outcomes[0]!
    const isSameRequest = outcomes.every((outcome) => outcome.isSameRequest)
    return [
      fault.fault,
      fault.in ?? "both",
      fault.does,
      String(fault.requests),
      error === undefined
        ? "the call succeeds"
        : `\`${error.reason._tag}\`, ${error.isRetryable ? "" : "not "}retryable`,
      error === undefined ? "–" : printMessage(error, host),
      isSameRequest ? "the same request" : "its tools, in the prompt",
      error === undefined ? "–" : (yield* ErrorProjection.forUser(error, "run")).message,
      kept(error)
    ]
  })

describe("faults on the wire", () => {
  /** Observations of each fault's test, for the table: a fault is played once in a run of them all. */
  const rows = new Map<Fault, ReadonlyArray<string>>()
  const played = async (fault: Fault): Promise<ReadonlyArray<string>> => {
    const row = await Effect.runPromise(Effect.scoped(rowOf(fault)))
    rows.set(fault, row)
    return row
  }

  for (const fault of faults) it(`${fault.fault}`, () => played(fault))

  it("are the table of docs/wire-faults.md", async () => {
    const table: Array<ReadonlyArray<string>> = []
    for (const fault of faults) table.push(rows.get(fault) ?? await played(fault))
    await expect(document(table)).toMatchFileSnapshot("../../../../docs/wire-faults.md")
  }, 120_000)
})

const document = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const table = [
    [
      "Fault",
      "Call",
      "Recourse",
      "Requests",
      "What surfaces",
      "Its message, fit for anyone",
      "The model sees",
      "The user is told",
      "Kept for the operator"
    ],
    ...rows
  ]
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)))
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`
  const [head, ...body] = table.map(line)
  return [
    "# Faults on the wire",
    "",
    "Generated by `packages/openai-compatible/test/connection/faults.test.ts`, which plays each fault on a real socket and checks each cell.",
    "",
    "A fault of the wire is never told to the model: it is asked again, or the call fails. Malformed arguments and unknown tools",
    "are not faults of the wire; they reach the loop as calls.",
    "",
    head,
    `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`,
    ...body,
    ""
  ].join("\n")
}
