import { assert, describe, it } from "@effect/vitest"
import { Approval } from "@recourse/core"
import { Programs } from "@recourse/testing"
import { Cause, Effect, Exit } from "effect"
import { program, tool } from "./plainProgram.ts"

/** The same programs in each test run. Other ones are drawn if `RECOURSE_PROGRAMS` says how many, by `RECOURSE_SEED`. */
const given = process.env["RECOURSE_PROGRAMS"]
const runs = Number(given ?? 150)
const seed = given === undefined ? 1 : Number(process.env["RECOURSE_SEED"] ?? 1)

const names = Object.keys(Programs.laws) as ReadonlyArray<Programs.ProgramLaw>

it.effect(`${runs} programs keep the laws`, () =>
  Effect.gen(function*() {
    const report = yield* Programs.check({ runs, seed })
    // They come to something: tools run, runs wait, and there are many operations to be interrupted at.
    assert.isAbove(report.deeds, 2 * runs)
    assert.isAbove(report.pauses, runs / 10)
    assert.isAbove(report.operations, 500 * runs)
  }), 600 * Math.max(500, runs))

describe("a run that is interrupted at any operation, waits and resumptions included", () => {
  const asks = { ...tool, approval: true }
  const read = { ...tool, effects: "read" } as const
  const within = { ...program, tools: [{ ...read, calls: 1 }, asks] }
  /** A program, and how far apart the operations are; with more programs than by default, it is interrupted at each. */
  const cases: Readonly<Record<string, readonly [program: Programs.Program, every: number]>> = {
    "beside a call that waits, one fails": [{
      ...program,
      tools: [asks, { ...read, outcomes: ["lost"] }],
      turns: [[{ tool: 0, order: "a" }, { tool: 1, order: "a" }, { tool: 0, order: "b" }]],
      standard: false,
      concurrency: 2
    }, 1],
    "a call begins as another one ends": [{
      ...program,
      tools: [read, { ...read, outcomes: ["hang"] }],
      turns: [[{ tool: 0, order: "a" }, { tool: 0, order: "b" }, { tool: 1, order: "a" }]],
      concurrency: 2,
      order: 1
    }, 2],
    "a tool's call waits, and is rejected": [{ ...within, decisions: ["reject"] }, 1],
    "a tool's call waits, too late": [{ ...within, decisions: ["late"] }, 1],
    "what was approved is not met again": [{
      ...program,
      tools: [{ ...read, outcomes: ["lost"], recovery: [{ op: "fallbackTool", times: 1 }] }, asks]
    }, 2],
    "a tool answers a Stream": [{ ...program, tools: [{ ...read, streams: true, parts: true, untrusted: true }] }, 1],
    "a run undoes what it has done": [{
      ...program,
      tools: [{ ...tool, undo: "ok" }, { ...tool, undo: "hangs", calls: 0 }, { ...tool, outcomes: ["defect"] }],
      turns: [[{ tool: 0, order: "a" }, { tool: 1, order: "a" }], [{ tool: 2, order: "a" }]],
      compensates: true
    }, 3],
    "an agent waits in a function": [{ ...program, form: "hand", tools: [asks] }, 1],
    "agents in a row wait, and wait again": [{
      ...program,
      form: "twice",
      tools: [{ ...read, approval: true }],
      turns: [[{ tool: 0, order: "a" }, { tool: 0, order: "b" }]],
      decisions: ["later"]
    }, 13],
    "an agent waits that is a tool": [{ ...within, form: "tool" }, 11],
    "a call of a chat waits again, after a part of it was done": [{
      ...program,
      tools: [{ ...read, calls: 4 }, asks],
      asks: "within",
      chat: ["say"]
    }, 19]
  }
  for (const [name, [program, every]] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const plain = yield* Programs.observe(program)
        const operations = plain.parts[0]!.operations
        for (let interruptAt = 1; interruptAt <= operations; interruptAt += runs > 1000 ? 1 : every) {
          const run = yield* Programs.observe(program, { interruptAt })
          const violations = names.flatMap((name) =>
            Programs.laws[name]({ plain: run, streamed: run, interrupted: run }).map(({ problem }) => problem)
          )
          assert.deepStrictEqual(violations, [], `operation ${interruptAt}`)
        }
      }), 120_000)
  }
})

describe("a program that once broke a law keeps all of them", () => {
  const once: Readonly<Record<string, Programs.Program>> = {
    "what the ledger answers of a call that was raced stands where it was done, among what is undone": {
      ...program,
      tools: [
        { ...tool, effects: "read" },
        {
          ...tool,
          effects: "idempotent",
          timeout: true,
          calls: 4,
          parts: true,
          recovery: [{ op: "raceFirst", times: 2 }, { op: "unfitRetry", times: 1 }]
        },
        {
          ...tool,
          effects: "idempotent",
          keyed: "call",
          timeout: true,
          parts: true,
          outcomes: ["lost", "lost", "hang"],
          undo: "ok"
        }
      ],
      turns: [[{ tool: 1, order: "b" }, { tool: 1, order: "a" }, { tool: 2, order: "b" }]],
      standard: false,
      compensates: true,
      compact: "refused",
      concurrency: 3,
      ledger: "steps",
      order: 69
    },
    "a call starts within a branch of a race whose other branch has ended": {
      ...program,
      tools: [
        { ...tool, keyed: "call", streams: true, calls: 1, recovery: [{ op: "race", times: 3 }] },
        { ...tool, keyed: "call", calls: 1, outcomes: ["declined"], undo: "ok" },
        { ...tool, effects: "read", streams: true }
      ],
      compensates: true
    },
    "a call that fails within another one says nothing of whether that one may be made again": {
      ...program,
      tools: [
        { ...tool, calls: 1 },
        { ...tool, keyed: "order", outcomes: ["lost"], recovery: [{ op: "standard", times: 1 }] }
      ]
    },
    "an agent has done something and waits, and the run around it dies": {
      ...program,
      tools: [{ ...tool, outcomes: ["ok", "defect"] }, { ...tool, approval: true }],
      turns: [[{ tool: 0, order: "a" }, { tool: 1, order: "a" }]],
      form: "tool"
    },
    "an agent that goes on has done something before, waits again, and the run around it dies": {
      ...program,
      tools: [tool, { ...tool, effects: "read", approval: true, outcomes: ["ok", "defect"] }],
      turns: [[{ tool: 0, order: "a" }, { tool: 1, order: "a" }], [{ tool: 1, order: "b" }]],
      form: "tool"
    },
    "a budget that ends a run beside a call that is denied": {
      ...program,
      tools: [{ ...tool, timeout: true, calls: 1, undo: "hangs" }, {
        ...tool,
        undo: "ok",
        streams: true,
        parts: true,
        recovery: [{ op: "timeoutRetry", times: 1 }, { op: "race", times: 2 }, { op: "fix", times: 1 }]
      }],
      turns: [[{ tool: 0, order: "b" }], [{ tool: 1, order: "none" }]],
      policy: "deny",
      compensates: true,
      order: 38
    },
    "a write that waits in a read which runs beside itself": {
      ...program,
      tools: [{ ...tool, effects: "read", calls: 1, recovery: [{ op: "both", times: 1 }] }, {
        ...tool,
        approval: true
      }],
      order: 131
    },
    "a write in a read in a read that is made anew": {
      ...program,
      tools: [
        { ...tool, effects: "read", calls: 1, outcomes: ["failure"], recovery: [{ op: "retry", times: 1 }] },
        { ...tool, effects: "read", calls: 1 },
        tool
      ]
    }
  }
  for (const [name, program] of Object.entries(once)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const run = yield* Programs.observe(program)
        const trial = { plain: run, streamed: run, interrupted: run }
        assert.deepStrictEqual(names.flatMap((name) => Programs.laws[name](trial).map(({ problem }) => problem)), [])
      }))
  }
})

describe("a program that breaks a law is found", () => {
  /** The laws that a changed observation of a program breaks. */
  const broken = (run: Programs.Observed, change: Partial<Programs.Observed>): ReadonlyArray<string> => {
    const trial = { plain: { ...run, ...change }, streamed: run, interrupted: run }
    return names.filter((name) => Programs.laws[name](trial).length > 0)
  }

  const lawful = (program: Programs.Program) =>
    Effect.tap(Programs.observe(program), (run) => Effect.sync(() => assert.deepStrictEqual(broken(run, {}), [])))

  const deed = (run: Programs.Observed, change: Partial<Programs.Observed["deeds"][number]>) => ({
    deeds: run.deeds.map((deed, index) => index === run.deeds.length - 1 ? { ...deed, ...change } : deed)
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
        broken(run, { ...died({ _tag: "InvalidOutput" }, bug), ...deed(run, { state: "died" }) }),
        "endings_are_typed"
      )
      const asks = { ...program, asks: "within", store: [{ at: 1, fault: "twice", store: "resumptions" }] } as const
      assert.notInclude(broken(run, { ...died(own, { _tag: "InvalidOutput" }), program: asks }), "endings_are_typed")
      assert.include(broken(run, { ...died(own, new TypeError("x")), program: asks }), "endings_are_typed")
      assert.include(broken(run, died(own)), "endings_are_typed")
      // Internal signals of composed agents are no endings.
      for (const _tag of ["Waits", "FailedBefore"]) {
        assert.include(broken(run, part(run, { exit: Exit.fail({ _tag }) })), "endings_are_typed")
        assert.include(broken(run, { ...died({ _tag }, bug), ...deed(run, { state: "died" }) }), "endings_are_typed")
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
      assert.include(broken(run, { deeds: [...run.deeds, ...run.deeds] }), "writes_begin_once")
      assert.include(broken(run, deed(run, { done: false })), "receipts_are_true")
      const results = run.events.flatMap((event) => event._tag === "ToolResult" ? [event] : [])
      assert.include(broken(run, { events: [...results, ...run.events] }), "receipts_are_true")

      const failedWith = (code: string) =>
        run.events.map((event) => event._tag === "ToolResult" ? { ...event, isFailure: true, code } : event)
      const failed = failedWith("not_run")
      assert.deepStrictEqual(broken(run, { events: failed }), ["begun_is_reported"])
      for (const state of ["running", "failed", "interrupted", "died"] as const) {
        assert.include(broken(run, { ...deed(run, { state }), events: failed }), "begun_is_reported")
      }
      const unknown = { ...deed(run, { state: "failed" }), events: failedWith("outcome_unknown") }
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
      const [second, first] = run.undone
      assert.strictEqual(run.undone.length, 2)
      assert.deepStrictEqual(broken(run, { undone: [] }), ["badly_ended_is_undone", "each_that_undoes_has_undone"])
      assert.include(broken(run, { undone: [first!, second!] }), "undone_in_reverse")
      const key = "once more"
      assert.include(broken(run, { undone: [...run.undone, { ...first!, key }] }), "undone_once_and_only_what_was_done")
      assert.include(
        broken(run, { undone: [second!, { ...first!, key: second!.key }] }),
        "undone_once_and_only_what_was_done"
      )
      assert.include(
        broken(run, { undone: [second!, { ...first!, receipt: "receipt-9" }] }),
        "undone_once_and_only_what_was_done"
      )
      assert.include(
        broken(run, { program: { ...bad, compensates: false } }),
        "undone_once_and_only_what_was_done"
      )
      const well = yield* lawful({ ...bad, turns: [[{ tool: 0, order: "a" }]] })
      assert.deepStrictEqual(
        broken(well, {
          undone: well.deeds.map(({ after, receipt, tool }) => ({ tool, receipt: receipt!, after: after + 1, key }))
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
        deeds: waits.deeds.filter(({ after }) => after < to),
        ...part(waits, { exit: Exit.interrupt(), events: [0, to] })
      }
      assert.deepStrictEqual(broken(cutOff, {}), [])
      const undone = cutOff.deeds.map(({ receipt, tool }, n) => ({ tool, receipt: receipt!, after: to, key: `${n}` }))
      assert.include(broken(cutOff, { undone }), "what_goes_on_stays")
      assert.include(broken(cutOff, { undone, ...part(cutOff, { exit: run.parts[0]!.exit }) }), "what_goes_on_stays")
    }))

  it.effect("of keys", () =>
    Effect.gen(function*() {
      const run = yield* lawful({ ...program, tools: [{ ...tool, keyed: "call" }] })
      assert.strictEqual(run.entries.length, 1)
      const entries = run.entries.map((entry) => ({ ...entry, finished: false }))
      assert.include(broken(run, { entries: [] }), "keys_are_free_iff_nothing_began")
      assert.include(broken(run, { entries, deeds: [] }), "keys_are_free_iff_nothing_began")
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
      assert.include(broken(run, deed(run, { order: "b" })), "approved_by_its_own_tool")
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
      const [first, second] = two.deeds
      assert.deepStrictEqual([first?.tool, second?.tool], ["t0", "t1"])
      const moved = [{ ...first!, state: "failed" as const }, { ...second!, callId: first!.callId }]
      assert.include(broken(two, { deeds: moved }), "no_fallback_after_a_doubt")
    }))

  it.effect("of outsiders", () =>
    Effect.gen(function*() {
      const reader = { ...tool, effects: "read", untrusted: true } as const
      const run = yield* lawful({
        ...program,
        tools: [reader, tool],
        turns: [[{ tool: 0, order: "a" }], [{ tool: 1, order: "a" }]]
      })
      assert.strictEqual(run.deeds.length, 1)
      const write = { ...run.deeds[0]!, tool: "t1", requests: 2 }
      assert.include(broken(run, { deeds: [...run.deeds, write] }), "tainted_stays_tainted")
      assert.notInclude(broken(run, { deeds: [...run.deeds, { ...write, requests: 1 }] }), "tainted_stays_tainted")
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
            plain.deeds.some(({ state }) => state === "failed") ? [{ run: "plain", problem: "an answer is lost" }] : []
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
