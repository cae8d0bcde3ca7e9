/** Receipts in drawn programs. */

import { assert, describe, it } from "@effect/vitest"
import { Programs } from "@recourse/testing"
import { Effect } from "effect"
import { program as plain, tool } from "../support/plainProgram.ts"

describe("receipts in drawn programs", () => {
  type Spec = Programs.Program["tools"][number]
  const spec: Spec = { ...tool, keyed: "call" }
  const program: Programs.Program = {
    ...plain,
    tools: [spec],
    turns: [[{ tool: 0, order: "a" }, { tool: 0, order: "b" }]]
  }

  /** Findings of the law in a run, with the events of a library with a bug. */
  const found = (
    run: Programs.Observed,
    change: (event: Programs.Observed["events"][number]) => Programs.Observed["events"][number]
  ) => {
    const told = { ...run, events: run.events.map(change) }
    return Programs.laws.receipts_are_true({ plain: told, streamed: run, interrupted: run }).map(({ problem }) =>
      problem
    )
  }
  const same = (event: Programs.Observed["events"][number]) => event
  const reporting = (callId: string, receipt: string) => (event: Programs.Observed["events"][number]) =>
    event._tag === "ToolResult" && event.callId === callId ? { ...event, result: { receipt } } : event

  it.effect("a second payment, unexecuted, that the ledger answers", () =>
    Effect.gen(function*() {
      const run = yield* Programs.observe(program)
      assert.deepStrictEqual(found(run, same), [])
      assert.deepStrictEqual(found(run, reporting("c0_1", "receipt-1")), ["t0 receipt-1 is reported by 2 calls"])
      assert.deepStrictEqual(found(run, reporting("c0_1", "receipt-9")), ["t0 reports receipt-9, which was not done"])
    }))

  /** A tool that fails once its call was done, is tried again, and calls the same again: the ledger answers. */
  const again: Programs.Program = {
    ...program,
    tools: [
      {
        ...spec,
        keyed: "no",
        effects: "idempotent",
        outcomes: ["failure"],
        calls: 1,
        recovery: [{ op: "retry", times: 1 }]
      },
      spec
    ],
    turns: [[{ tool: 0, order: "a" }, { tool: 1, order: "b" }]]
  }

  it.effect("a repeated call answers only effects of the same model call", () =>
    Effect.gen(function*() {
      const run = yield* Programs.observe(again)
      const replayed = run.events.filter(({ _tag }) => _tag === "ToolReplayed")
      assert.lengthOf(replayed, 1)
      assert.deepStrictEqual(found(run, same), [])
      const [inner] = run.events.flatMap((event) => event._tag === "ToolReplayed" ? [event.callId] : [])
      const isLast = run.events.findLastIndex((event) => event._tag === "ToolResult" && event.callId === inner)
      const answering = (receipt: string) => (event: Programs.Observed["events"][number]) =>
        event === run.events[isLast] ? reporting(inner!, receipt)(event) : event
      // Without an effect, and of another call of the model.
      assert.deepStrictEqual(found(run, answering("receipt-9")), ["t1 reports receipt-9, which was not done"])
      const other = run.sideEffects.find(({ callId }) => callId === "c0_1")!.receipt!
      assert.deepStrictEqual(found(run, answering(other)), [
        `t1 ${other} is reported by 2 calls`,
        `t1 reports ${other}, which was not done`
      ])
    }))

  it.effect("a model's call, or a single tool call, has no ledger excuse", () =>
    Effect.gen(function*() {
      const run = yield* Programs.observe(again)
      const [inner] = run.events.flatMap((event) => event._tag === "ToolReplayed" ? [event] : [])
      const first = run.sideEffects.find(({ callId }) => callId === inner!.callId)!.receipt!
      const replays = (callId: string) => ({ ...inner!, callId, parentCallId: undefined as never })
      const events = run.events.flatMap((event) =>
        event._tag === "ToolResult" && event.callId === "c0_1"
          ? [replays("c0_1"), reporting("c0_1", first)(event)]
          : [event]
      )
      assert.include(
        Programs.laws.receipts_are_true({ plain: { ...run, events }, streamed: run, interrupted: run })
          .map(({ problem }) => problem),
        `t1 ${first} is reported by 2 calls`
      )
    }))
})
