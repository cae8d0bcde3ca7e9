/** Spans of a call made by a tool. */

import { assert, describe, it } from "@effect/vitest"
import type { Tracer } from "effect"
import { Effect, Option } from "effect"
import { Policy, Tool, ToolCall } from "@recourse/core"
import { by } from "../support/kit.ts"
import { agentOf, callOf, Closed, Down, type Inner, outerOf, played, write } from "../support/reportedCalls.ts"

describe("such a call by hand, outside a run", () => {
  it.effect("is the same call when retried after a failure", () =>
    Effect.gen(function*() {
      const ids: Array<string> = []
      const look = write(
        (() =>
          Effect.flatMap(ToolCall.ToolCall, ({ id }) =>
            ids.push(id) === 1 ? Effect.fail(new Down()) : Effect.succeed("seen"))) as never,
        { effects: "read" }
      )
      const outer = outerOf(() =>
        Effect.retry(callOf(look), { times: 1 })
      )
      assert.strictEqual(yield* callOf(outer).pipe(by({}, "c")), "seen")
      assert.deepStrictEqual(ids, ["c/pay_1", "c/pay_1"])
    }))
})

describe("such a call has a span", () => {
  const spanOf = (spans: ReadonlyArray<Tracer.NativeSpan>, tool: string) =>
    spans.filter(({ name }) => name === `execute_tool ${tool}`)

  const ends: Readonly<Record<string, { readonly inner: Inner; readonly code: string | undefined }>> = {
    "that says nothing of a success": { inner: callOf(write(() => Effect.succeed("paid"))), code: undefined },
    "that says what is unknown": { inner: callOf(write(() => Effect.fail(new Down()))), code: "outcome_unknown" },
    "that says what is unknown of an interrupted write": {
      inner: Effect.timeout(callOf(write(() => Effect.never)), 1000),
      code: "outcome_unknown"
    },
    "that says what is unknown of a dead write": { inner: callOf(write(() => Effect.die(1))), code: "outcome_unknown" },
    "that says what is unknown of an interrupted keyed call": {
      inner: Effect.timeout(callOf(write(() => Effect.never, { effects: undefined, idempotency: true })), 1000),
      code: "outcome_unknown"
    },
    "that says what is declared": {
      inner: callOf(write(() => Effect.fail(new Closed()), { failure: Closed })),
      code: "upstream_error"
    },
    "that says that a read was not finished": {
      inner: Effect.timeout(callOf(write(() => Effect.never, { effects: "read" })), 1000),
      code: "not_run"
    },
    "that says what a read within which a write began came to": {
      inner: Effect.timeout(
        callOf(Tool.make("pay", {
          effects: "read",
          execute: () =>
            Effect.provideService(
              write(() => Effect.never).call as Inner,
              ToolCall.ToolCall,
              ToolCall.make({ id: "deep", arguments: {} })
            ) as never
        }) as never),
        1000
      ),
      code: "outcome_unknown"
    }
  }
  for (const [name, { code, inner }] of Object.entries(ends)) {
    it.effect(`${name}, and its event says the same`, () =>
      Effect.gen(function*() {
        const { resultOf, spans } = yield* played(agentOf([outerOf(() => Effect.exit(inner))]))
        const [outer] = spanOf(spans, "outer")
        const [pay] = spanOf(spans, "pay")
        assert.strictEqual(Option.getOrUndefined(pay!.parent)?.spanId, outer?.spanId)
        assert.strictEqual(pay?.status._tag, "Ended")
        assert.strictEqual(pay?.attributes.get("error.type"), code)
        assert.strictEqual(pay?.attributes.get("gen_ai.tool.call.id"), "c/pay_1")
        assert.deepStrictEqual(resultOf("c/pay_1").map(({ code }) => code), [code])
      }))
  }

  it.effect("that ends with the run", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.never)
      const { resultOf, spans } = yield* played(
        agentOf([outerOf(() => callOf(pay))], { budget: { duration: "1 second" } })
      )
      const [span] = spanOf(spans, "pay")
      assert.strictEqual(span?.status._tag, "Ended")
      assert.strictEqual(span?.attributes.get("error.type"), "outcome_unknown")
      assert.deepStrictEqual(resultOf("c/pay_1").map(({ code }) => code), ["outcome_unknown"])
    }))

  it.effect("has a span also if a policy denies it, like its event", () =>
    Effect.gen(function*() {
      const pay = write(() => Effect.succeed("paid"))
      const policies = [Policy.make("no", () => Policy.deny("no")).pipe(Policy.forTools(pay))]
      const { audit, resultOf, spans } = yield* played(
        agentOf([outerOf(() => Effect.catchCause(callOf(pay), () => Effect.succeed("fine")))], { policies })
      )
      assert.strictEqual(spanOf(spans, "pay")[0]?.attributes.get("error.type"), "permission_denied")
      assert.deepStrictEqual(resultOf("c/pay_1").map(({ code, deniedBy }) => [code, deniedBy]), [
        ["permission_denied", "policy"]
      ])
      assert.deepStrictEqual(audit, ["denied pay c/pay_1"])
    }))
})
