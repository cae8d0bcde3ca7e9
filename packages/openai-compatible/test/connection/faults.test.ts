import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted, Stream } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { ProviderResponse, TransportRetry } from "@recourse/core"
import { expect } from "vitest"
import { generate, key, model, observe, stream } from "../support/harness.ts"
import { printsOf } from "../../../../test/support/prints.ts"
import * as Server from "../support/server.ts"
import { page, type Row, rowOf } from "../support/faultPage.ts"
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
    const isInline = fault.fault.startsWith("native tools")
    // Each request but the first, and but the one with inline tools, was waited for by the transport.
    assert.strictEqual(waits, fault.requests - 1 - (isInline ? 1 : 0), mode)
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
    const bodies = new Set(server.requests.map(({ body }) => JSON.stringify(body)))
    assert.strictEqual(bodies.size, isInline ? 2 : 1, mode)
    return { error, host: new URL(server.url).host }
  })

const outcomeOf = (fault: Fault) =>
  Effect.gen(function*() {
    const modes: ReadonlyArray<Mode> = fault.in === undefined ? ["whole", "stream"] : [fault.in]
    const outcomes = yield* Effect.forEach(modes, (mode) => run(fault, mode))
    const { error, host } = outcomes[0]!
    return yield* rowOf(fault, error, host)
  })

describe("faults on the wire", () => {
  /** Observations of each fault's test, for the table: a fault is played once in a run of them all. */
  const rows = new Map<Fault, Row>()
  const played = async (fault: Fault): Promise<Row> => {
    const row = await Effect.runPromise(Effect.scoped(outcomeOf(fault)))
    rows.set(fault, row)
    return row
  }

  for (const fault of faults) it(`${fault.fault}`, () => played(fault))

  it("are the tables of docs/wire-faults.md", async () => {
    const all: Array<Row> = []
    for (const fault of faults) all.push(rows.get(fault) ?? await played(fault))
    await expect(page(all)).toMatchFileSnapshot("../../../../docs/wire-faults.md")
  }, 120_000)
})
