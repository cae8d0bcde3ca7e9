/** Programs that break a law, and are found. */

import { assert, describe, it } from "@effect/vitest"
import { Approval } from "@recourse/core"
import { Programs } from "@recourse/testing"
import { Cause, Effect, Exit } from "effect"
import { program, tool } from "../support/plainProgram.ts"

const names = Object.keys(Programs.laws) as ReadonlyArray<Programs.ProgramLaw>

describe("a program that breaks a law is found", () => {
  /** The laws that a changed observation of a program breaks. */
  const broken = (run: Programs.Observed, change: Partial<Programs.Observed>): ReadonlyArray<string> => {
    const trial = { plain: { ...run, ...change }, streamed: run, interrupted: run }
    return names.filter((name) => Programs.laws[name](trial).length > 0)
  }

  const lawful = (program: Programs.Program) =>
    Effect.tap(Programs.observe(program), (run) => Effect.sync(() => assert.deepStrictEqual(broken(run, {}), [])))

  const effect = (run: Programs.Observed, change: Partial<Programs.Observed["sideEffects"][number]>) => ({
    sideEffects: run.sideEffects.map((effect, index) =>
      index === run.sideEffects.length - 1 ? { ...effect, ...change } : effect
    )
  })

  const part = (run: Programs.Observed, change: Partial<Programs.Observed["parts"][number]>) => ({
    parts: run.parts.map((part) => ({ ...part, ...change }))
  })

  it.effect("of its endings, records and events", () =>
    Effect.gen(function*() {
      const run = yield* lawful(program)
      assert.deepStrictEqual(broken(run, part(run, { exit: Exit.fail(undefined) })), [
        "endings_are_typed",
        "streamed_alike"
      ])
      assert.include(broken(run, part(run, { exit: Exit.die(new TypeError("x")) })), "endings_are_typed")
      const died = (...defects: ReadonlyArray<unknown>) =>
        part(run, { exit: Exit.failCause(Cause.fromReasons(defects.map(Cause.makeDieReason))) })
      const bug = new Error("injected")
      const own = new Approval.SnapshotRefused({ agent: "clerk", reason: "used" })
      // An error is a defect only in parallel to one.
      assert.include(broken(run, died({ _tag: "InvalidOutput" })), "endings_are_typed")
      assert.notInclude(
        broken(run, { ...died({ _tag: "InvalidOutput" }, bug), ...effect(run, { state: "died" }) }),
        "endings_are_typed"
      )
      const asks = { ...program, asks: "within", store: [{ at: 1, fault: "twice", store: "resumptions" }] } as const
      assert.notInclude(broken(run, { ...died(own, { _tag: "InvalidOutput" }), program: asks }), "endings_are_typed")
      assert.include(broken(run, { ...died(own, new TypeError("x")), program: asks }), "endings_are_typed")
      assert.include(broken(run, died(own)), "endings_are_typed")
      // Internal signals of composed agents are no endings.
      for (const _tag of ["Waits", "FailedBefore"]) {
        assert.include(broken(run, part(run, { exit: Exit.fail({ _tag }) })), "endings_are_typed")
        assert.include(broken(run, { ...died({ _tag }, bug), ...effect(run, { state: "died" }) }), "endings_are_typed")
      }
      assert.include(broken(run, part(run, { record: undefined })), "begun_is_recorded")
      assert.include(
        broken(run, part(run, { record: { ...run.parts[0]!.record!, executed: [] } })),
        "begun_is_recorded"
      )
      assert.deepStrictEqual(broken(run, { events: run.events.slice(0, -1) }), ["every_start_has_its_end"])
      assert.deepStrictEqual(broken(run, { events: run.events.filter(({ _tag }) => _tag !== "ToolResult") }), [
        "every_start_has_its_end"
      ])
      assert.deepStrictEqual(broken(run, { open: ["a span"] }), ["every_start_has_its_end"])
      for (const _tag of ["ModelTurnFinished", "ToolAttemptSucceeded", "RunStarted", "RunFinished"]) {
        const events = run.events.filter((event) => event._tag !== _tag)
        assert.include(broken(run, { events }), "every_start_has_its_end", _tag)
      }
      assert.deepStrictEqual(broken(run, part(run, { fibers: 1 })), ["it_ends"])
      assert.deepStrictEqual(broken(run, part(run, { stopped: "stalled" })), ["it_ends"])
      assert.deepStrictEqual(broken(run, part(run, { elapsed: 60_001 })), ["it_ends", "streamed_alike"])
    }))

  it.effect("about completed calls", () =>
    Effect.gen(function*() {
      const run = yield* lawful(program)
      assert.include(broken(run, { sideEffects: [...run.sideEffects, ...run.sideEffects] }), "writes_begin_once")
      assert.include(broken(run, effect(run, { done: false })), "receipts_are_true")
      const results = run.events.flatMap((event) => event._tag === "ToolResult" ? [event] : [])
      assert.include(broken(run, { events: [...results, ...run.events] }), "receipts_are_true")

      const failedWith = (code: string) =>
        run.events.map((event) => event._tag === "ToolResult" ? { ...event, isFailure: true, code } : event)
      const failed = failedWith("not_run")
      assert.deepStrictEqual(broken(run, { events: failed }), ["begun_is_reported"])
      for (const state of ["running", "failed", "interrupted", "died"] as const) {
        assert.include(broken(run, { ...effect(run, { state }), events: failed }), "begun_is_reported")
      }
      const unknown = { ...effect(run, { state: "failed" }), events: failedWith("outcome_unknown") }
      assert.notInclude(broken(run, unknown), "begun_is_reported")
    }))

  it.effect("about preliminary results and pictures", () =>
    Effect.gen(function*() {
      const run = yield* lawful({
        ...program,
        tools: [{ ...tool, streams: true, parts: true, untrusted: true }]
      })
      const said = (event: Programs.Observed["events"][number]) =>
        event._tag === "ToolProgress" || event._tag === "ToolPreliminaryResult"
      assert.strictEqual(run.events.filter(said).length, 3)
      const unbegun = run.events.filter(({ _tag }) => _tag !== "ToolAttempt")
      assert.include(broken(run, { events: unbegun }), "said_before_the_result")
      assert.include(
        broken(run, { events: [...run.events, ...run.events.filter(said)] }),
        "said_before_the_result"
      )
      const unmarked = run.events.map((event) => {
        if (event._tag === "ToolProgress") {
          const { untrusted: _, ...rest } = event
          return rest
        }
        return event._tag === "ToolPreliminaryResult"
          ? { ...event, result: (event.result as { readonly content: unknown }).content }
          : event
      })
      for (const _tag of ["ToolProgress", "ToolPreliminaryResult"]) {
        const events = run.events.map((event, index) => event._tag === _tag ? unmarked[index]! : event)
        assert.deepStrictEqual(broken(run, { events }), ["untrusted_content_labelled"], _tag)
      }
      const open = JSON.parse(JSON.stringify(run.requests), (key, value) =>
        key === "modelOutput" ? value.slice(1) : value)
      assert.deepStrictEqual(broken(run, { requests: open }), ["untrusted_content_labelled"])
    }))

  it.effect("about compensations", () =>
    Effect.gen(function*() {
      const bad = {
        ...program,
        tools: [{ ...tool, undo: "ok" as const }, { ...tool, outcomes: ["defect" as const] }],
        turns: [[{ tool: 0, order: "a" as const }, { tool: 0, order: "b" as const }], [{
          tool: 1,
          order: "a" as const
        }]],
        compensates: true
      }
      const run = yield* lawful(bad)
      const [second, first] = run.compensations
      assert.strictEqual(run.compensations.length, 2)
      assert.deepStrictEqual(broken(run, { compensations: [] }), [
        "badly_ended_is_undone",
        "each_that_undoes_has_undone"
      ])
      assert.include(broken(run, { compensations: [first!, second!] }), "undone_in_reverse")
      const key = "once more"
      assert.include(
        broken(run, { compensations: [...run.compensations, { ...first!, key }] }),
        "undone_once_and_only_what_was_done"
      )
      assert.include(
        broken(run, { compensations: [second!, { ...first!, key: second!.key }] }),
        "undone_once_and_only_what_was_done"
      )
      assert.include(
        broken(run, { compensations: [second!, { ...first!, receipt: "receipt-9" }] }),
        "undone_once_and_only_what_was_done"
      )
      assert.include(
        broken(run, { program: { ...bad, compensates: false } }),
        "undone_once_and_only_what_was_done"
      )
      const well = yield* lawful({ ...bad, turns: [[{ tool: 0, order: "a" }]] })
      assert.deepStrictEqual(
        broken(well, {
          compensations: well.sideEffects.map(({ after, receipt, tool }) => ({
            tool,
            receipt: receipt!,
            after: after + 1,
            key
          }))
        }),
        ["well_ended_stays", "nobody_undoes_who_goes_on"]
      )
      // One that was interrupted while it waited continues.
      const waits = yield* lawful({
        ...bad,
        tools: [{ ...tool, undo: "ok" }, { ...tool, approval: true }],
        decisions: ["approve"]
      })
      const to = 1 + waits.events.findIndex((event) => event._tag === "RunFinished" && event.outcome === "paused")
      assert.isAbove(to, 1)
      const cutOff = {
        ...waits,
        events: waits.events.slice(0, to),
        sideEffects: waits.sideEffects.filter(({ after }) => after < to),
        ...part(waits, { exit: Exit.interrupt(), events: [0, to] })
      }
      assert.deepStrictEqual(broken(cutOff, {}), [])
      const compensations = cutOff.sideEffects.map(({ receipt, tool }, n) => ({
        tool,
        receipt: receipt!,
        after: to,
        key: `${n}`
      }))
      assert.include(broken(cutOff, { compensations }), "what_goes_on_stays")
      assert.include(
        broken(cutOff, { compensations, ...part(cutOff, { exit: run.parts[0]!.exit }) }),
        "what_goes_on_stays"
      )
    }))

  it.effect("of keys", () =>
    Effect.gen(function*() {
      const run = yield* lawful({ ...program, tools: [{ ...tool, keyed: "call" }] })
      assert.strictEqual(run.entries.length, 1)
      const entries = run.entries.map((entry) => ({ ...entry, finished: false }))
      assert.include(broken(run, { entries: [] }), "keys_are_free_iff_nothing_began")
      assert.include(broken(run, { entries, sideEffects: [] }), "keys_are_free_iff_nothing_began")
      assert.deepStrictEqual(broken(run, { entries }), [])
    }))

  it.effect("of approvals, denials and second providers", () =>
    Effect.gen(function*() {
      const run = yield* lawful({ ...program, tools: [{ ...tool, approval: true }] })
      assert.deepStrictEqual(broken(run, { pauses: [] }), ["approved_by_its_own_tool"])
      assert.deepStrictEqual(
        broken(run, { pauses: run.pauses.map((pause) => ({ ...pause, decisions: [] })) }),
        ["approved_by_its_own_tool"]
      )
      assert.include(broken(run, effect(run, { order: "b" })), "approved_by_its_own_tool")
      assert.include(
        broken(run, { pauses: run.pauses.map((pause) => ({ ...pause, after: run.events.length + 1 })) }),
        "approved_by_its_own_tool"
      )
      assert.deepStrictEqual(
        broken(run, { program: { ...run.program, policy: "deny" } }),
        ["approved_by_its_own_tool"]
      )

      const two = yield* lawful({
        ...program,
        tools: [{ ...tool, recovery: [{ op: "fallbackTool", times: 1 }] }, tool],
        turns: [[{ tool: 0, order: "a" }, { tool: 1, order: "a" }]]
      })
      const [first, second] = two.sideEffects
      assert.deepStrictEqual([first?.tool, second?.tool], ["t0", "t1"])
      const moved = [{ ...first!, state: "failed" as const }, { ...second!, callId: first!.callId }]
      assert.include(broken(two, { sideEffects: moved }), "no_fallback_after_a_doubt")
    }))

  it.effect("of outsiders", () =>
    Effect.gen(function*() {
      const reader = { ...tool, effects: "read", untrusted: true } as const
      const run = yield* lawful({
        ...program,
        tools: [reader, tool],
        turns: [[{ tool: 0, order: "a" }], [{ tool: 1, order: "a" }]]
      })
      assert.strictEqual(run.sideEffects.length, 1)
      const write = { ...run.sideEffects[0]!, tool: "t1", requests: 2 }
      assert.include(broken(run, { sideEffects: [...run.sideEffects, write] }), "tainted_stays_tainted")
      assert.notInclude(
        broken(run, { sideEffects: [...run.sideEffects, { ...write, requests: 1 }] }),
        "tainted_stays_tainted"
      )
      const bare = run.requests.map((request) => ({
        ...request,
        prompt: JSON.parse(JSON.stringify(request.prompt).replaceAll("\"untrusted\":true", "\"untrusted\":false"))
      }))
      assert.include(broken(run, { requests: bare }), "untrusted_content_labelled")
    }))

  it.effect("and shrunk, with a timeline, and can be replayed", () =>
    Effect.gen(function*() {
      const options: Programs.Options = {
        runs: 300,
        laws: [],
        more: {
          nothing_is_lost: ({ plain }) =>
            plain.sideEffects.some(({ state }) => state === "failed")
              ? [{ run: "plain", problem: "an answer is lost" }]
              : []
        }
      }
      const error = yield* Effect.flip(Programs.check(options))
      assert.strictEqual(error.law, "nothing_is_lost")
      assert.match(error.message, /^(?:t0|__proto__): .*executions: (lost|failure|unsure)/m)
      assert.match(error.message, / ms {3}(?:t0|__proto__) c0_0 attempt 1/)
      const again = yield* Effect.flip(Programs.check({ ...options, replay: error.replay }))
      assert.deepStrictEqual(again.program, error.program)
    }))
})
