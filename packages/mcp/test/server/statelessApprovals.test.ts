/** Approvals without a session (2026-07-28). */

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { codeOf, http, post } from "../support/shopServer.ts"

/** A `tools/call` of the revision without sessions. */
const modern = (url: URL, order: string, more: object = {}, headers: Record<string, string> = {}, meta: object = {}) =>
  post(url, {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name: "refund",
      arguments: { order },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
        ...meta
      },
      ...more
    }
  }, { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "refund", ...headers })

const allowed = { "call_1": { action: "accept", content: { allow: true } } }

describe("approvals without a session (2026-07-28)", () => {
  it.live("the client answers with its next request, once, for this call", () =>
    Effect.gen(function*() {
      const { done, url } = yield* http
      const asked = yield* modern(url, "A-1")
      const { inputRequests, requestState } = asked.body.result
      assert.include(inputRequests.call_1.params.message, "A-1")
      // The state contains a conversation, which the client must not read.
      assert.notInclude(Buffer.from(requestState, "base64url").toString("latin1"), "A-1")
      const answered = { requestState, inputResponses: allowed }
      for (
        const refused of [
          yield* modern(url, "A-2", answered),
          yield* modern(url, "A-1", answered, { authorization: "Bearer bert" }),
          yield* modern(url, "A-1", { ...answered, requestState: `${requestState.slice(0, -4)}AAAA` }),
          yield* modern(url, "A-1", { ...answered, requestState: "x" })
        ]
      ) assert.isDefined(refused.body.error, JSON.stringify(refused.body))
      assert.deepStrictEqual(done(), [])
      const { body } = yield* modern(url, "A-1", answered)
      assert.deepStrictEqual(body.result.structuredContent, { refunded: "A-1" })
      assert.isDefined((yield* modern(url, "A-1", answered)).body.error)
      assert.deepStrictEqual(done(), ["refund A-1"])
    }).pipe(Effect.scoped), 30_000)

  it.live("with an idempotency key, a repeated answer is answered again", () =>
    Effect.gen(function*() {
      const { done, url } = yield* http
      const key = { "recourse/idempotency-key": "k" }
      const { requestState } = (yield* modern(url, "A-1", {}, {}, key)).body.result
      assert.strictEqual((yield* modern(url, "A-1", {}, {}, key)).body.result.requestState, requestState)
      const answered = { requestState, inputResponses: allowed }
      const first = yield* modern(url, "A-1", answered, {}, key)
      const second = yield* modern(url, "A-1", answered, {}, key)
      assert.deepStrictEqual(second.body.result, first.body.result)
      assert.deepStrictEqual(done(), ["refund A-1"])
    }).pipe(Effect.scoped), 30_000)

  it.live("who declines, or does not answer, has not approved", () =>
    Effect.gen(function*() {
      const { done, url } = yield* http
      const ask = () => Effect.map(modern(url, "A-1"), ({ body }) => body.result.requestState as string)
      const declined = { requestState: yield* ask(), inputResponses: { "call_1": { action: "decline" } } }
      assert.strictEqual(codeOf(yield* modern(url, "A-1", declined)), "permission_denied")
      assert.strictEqual(codeOf(yield* modern(url, "A-1", { requestState: yield* ask() })), "approval_required")
      assert.deepStrictEqual(done(), [])
    }).pipe(Effect.scoped), 30_000)
})
