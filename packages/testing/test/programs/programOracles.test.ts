/**
 * The laws about programs are tested too: for each there is a program that keeps it, and the observations when it does
 * not.
 */
import { assert, describe, it } from "@effect/vitest"
import { Programs } from "@recourse/testing"
import { Effect, Exit } from "effect"
import { Approval } from "@recourse/core"
import { program, tool } from "../support/plainProgram.ts"

type Run = Programs.Observed
type Tool = Programs.Program["tools"][number]

const read: Tool = { ...tool, effects: "read" }
const caller: Tool = { ...read, calls: 1 }

const of = (...tools: ReadonlyArray<Tool>): Programs.Program => ({ ...program, tools })
/** Its write is done, and then its run ends badly. */
const undoing: Programs.Program = {
  ...of({ ...tool, undo: "ok" }, { ...tool, outcomes: ["defect"] }),
  turns: [[{ tool: 0, order: "a" }, { tool: 0, order: "b" }], [{ tool: 1, order: "a" }]],
  compensates: true
}
const inTurn = { turns: [[{ tool: 0, order: "a" }], [{ tool: 1, order: "a" }]] } as const

const parts = (run: Run, change: Partial<Run["parts"][number]>): Partial<Run> => ({
  parts: run.parts.map((part) => ({ ...part, ...change }))
})
const sideEffects = (run: Run, change: (effect: Run["sideEffects"][number]) => object): Partial<Run> => ({
  sideEffects: run.sideEffects.map((effect) => ({ ...effect, ...change(effect) }))
})
const without = (run: Run, tag: string): Partial<Run> => ({ events: run.events.filter(({ _tag }) => _tag !== tag) })
/** The model's result of its own call: it failed. */
const failing = (run: Run, code: string, result: object = {}): Partial<Run> => ({
  events: run.events.map((event) =>
    event._tag === "ToolResult" && event.parentCallId === undefined
      ? { ...event, isFailure: true, code, result: { status: "error", code, ...result } }
      : event
  )
})

/** A chat in which something is done, and more is said. */
const chatting: Programs.Program = { ...program, chat: ["say"] }
/** The model's next prompt, with changed results. */
const reading = (run: Run, change: (json: string) => string): Partial<Run> => ({
  left: Exit.map(run.left!, (prompt) => JSON.parse(change(JSON.stringify(prompt))) as never)
})

/** For each law: a program that keeps it, and the changed observation that breaks the law. */
const broken: Readonly<
  Record<Programs.ProgramLaw, readonly [kept: Programs.Program, change: (run: Run) => Partial<Run>, of?: "streamed"]>
> = {
  endings_are_typed: [program, (run) => parts(run, { exit: Exit.fail("no tag") })],
  begun_is_recorded: [program, (run) => parts(run, { record: { ...run.parts[0]!.record!, executed: [] } })],
  history_is_well_formed: [program, ({ requests }) => ({
    requests: requests.map((request) => ({
      ...request,
      prompt: { ...request.prompt, content: request.prompt.content.filter(({ role }) => role !== "tool") } as never
    }))
  })],
  begun_is_reported: [program, (run) => ({
    ...sideEffects(run, () => ({ state: "interrupted" })),
    ...failing(run, "execution_error")
  })],
  no_fallback_after_a_doubt: [
    {
      ...of({ ...tool, recovery: [{ op: "fallbackTool", times: 1 }] }, tool),
      turns: [[...inTurn.turns[0], ...inTurn.turns[1]]]
    },
    (run) =>
      sideEffects(run, ({ tool }) => tool === "t0" ? { state: "failed" } : { callId: run.sideEffects[0]!.callId })
  ],
  keys_are_free_iff_nothing_began: [of({ ...tool, keyed: "call" }), () => ({ entries: [] })],
  approved_by_its_own_tool: [of({ ...tool, approval: true }), () => ({ pauses: [] })],
  asked_where_it_can_wait: [of(caller, { ...tool, approval: true }), ({ audit }) => ({
    audit: audit.map((record) => ({ ...record, decision: "denied" as const, by: "approval" }))
  })],
  done_within_is_not_denied: [of(caller, tool), (run) => failing(run, "permission_denied")],
  done_by_an_agent_is_not_denied: [{ ...program, form: "tool" }, (run) => failing(run, "approval_required")],
  retries_are_safe: [program, (run) => failing(run, "timeout", { safe_to_retry: true })],
  tainted_stays_tainted: [{ ...of({ ...read, untrusted: true }, tool), ...inTurn }, ({ sideEffects }) => ({
    sideEffects: [...sideEffects, { ...sideEffects[0]!, tool: "t1", requests: 2 }]
  })],
  untrusted_content_labelled: [of({ ...read, untrusted: true }), ({ requests }) => ({
    requests: JSON.parse(JSON.stringify(requests).replaceAll("\"untrusted\":true", "\"untrusted\":false")) as never
  })],
  said_before_the_result: [of({ ...read, streams: true }), (run) => without(run, "ToolAttempt")],
  receipts_are_true: [program, (run) => sideEffects(run, () => ({ done: false }))],
  writes_begin_once: [program, ({ sideEffects }) => ({ sideEffects: [...sideEffects, ...sideEffects] })],
  results_name_the_call_around_them: [of(caller, tool), ({ events }) => ({
    events: events.map((event) => {
      if (event._tag !== "ToolResult") return event
      const { parentCallId: _, ...rest } = event
      return rest
    })
  })],
  only_offered_tools_run: [{ ...of(read, tool), offers: "first" }, (run) => sideEffects(run, () => ({ tool: "t1" }))],
  guards_come_first: [{ ...program, guards: "replace" }, (run) => parts(run, { exit: Exit.succeed("done") })],
  compacted_is_shorter: [program, ({ events }) => ({
    events: [...events, {
      ...events[0]!,
      _tag: "ContextCompacted",
      turn: 1,
      because: "max_tokens",
      tokensBefore: 2,
      tokens: 1
    }]
  })],
  transcripts_are_whole: [program, (run) => {
    const { record } = run.parts[0]!
    return parts(run, { record: { ...record!, transcript: { ...record!.transcript, content: [] } as never } })
  }],
  given_back_goes_on: [{ ...of({ ...tool, approval: true }), again: true }, (run) => {
    const [paused] = run.pauses
    const refused = new Approval.SnapshotRefused({ agent: "clerk", reason: "used" })
    const [part] = run.parts
    return {
      sideEffects: [],
      events: run.events.slice(0, paused!.after),
      parts: [
        { ...part!, exit: Exit.interrupt(), events: [0, paused!.after] },
        { ...part!, exit: Exit.fail(refused), events: [paused!.after, paused!.after], resumed: true }
      ]
    }
  }],
  resumed_writes_begin_once: [of({ ...tool, approval: true }), ({ sideEffects }) => ({
    sideEffects: [...sideEffects, ...sideEffects.map((effect) => ({ ...effect, instance: 7 }))]
  })],
  every_start_has_its_end: [program, (run) => without(run, "RunFinished")],
  it_ends: [program, (run) => parts(run, { fibers: 1 })],
  streamed_alike: [program, (run) => sideEffects(run, () => ({ order: "b" })), "streamed"],
  undone_once_and_only_what_was_done: [undoing, ({ compensations }) => ({
    compensations: [...compensations, { ...compensations[0]!, key: "another" }]
  })],
  badly_ended_is_undone: [undoing, () => ({ compensations: [] })],
  each_that_undoes_has_undone: [{ ...undoing, form: "route" }, () => ({ compensations: [] })],
  nobody_undoes_who_goes_on: [
    { ...undoing, form: "route", turns: [[{ tool: 0, order: "a" }]] },
    ({ sideEffects }) => ({
      compensations: sideEffects.map(({ after, receipt, tool }) => ({
        tool,
        receipt: receipt!,
        after: after + 1,
        key: "k"
      }))
    })
  ],
  chats_know_what_was_done: [chatting, (run) => reading(run, (json) => json.replaceAll("\"c0_0\"", "\"other\""))],
  replaced_is_not_read_again: [
    { ...chatting, guards: "replace" },
    (run) => reading(run, (json) => json.replaceAll(": something else", ""))
  ],
  chats_know_what_was_undone: [{
    ...undoing,
    ...chatting,
    tools: undoing.tools,
    turns: undoing.turns,
    compensates: true
  }, (run) => reading(run, (json) => json.replaceAll("undone", "done"))],
  chats_do_nothing_twice: [chatting, ({ sideEffects }) => ({ sideEffects: [...sideEffects, sideEffects[0]!] })],
  late_decisions_are_refused: [{ ...chatting, chat: ["decide"] }, ({ parts }) => ({
    parts: parts.map((part) => part.turn?.says === "decision" ? { ...part, exit: Exit.succeed("done") } : part)
  })],
  one_run_a_chat: [chatting, ({ events }) => ({
    events: [...events, ...events.filter(({ _tag }) => _tag === "RunStarted")]
  })],
  undone_in_reverse: [undoing, ({ compensations }) => ({ compensations: compensations.toReversed() })],
  // Interrupted while it waits: none of its calls is compensated.
  what_goes_on_stays: [
    { ...of({ ...tool, undo: "ok" }, { ...tool, approval: true }), ...inTurn, compensates: true },
    (run) => {
      const to = 1 + run.events.findIndex((event) => event._tag === "RunFinished" && event.outcome === "paused")
      return {
        events: run.events.slice(0, to),
        ...parts(run, { exit: Exit.interrupt(), events: [0, to] }),
        compensations: [{ tool: "t0", receipt: run.sideEffects[0]!.receipt!, key: "k", after: to }]
      }
    }
  ],
  well_ended_stays: [{ ...undoing, turns: [[{ tool: 0, order: "a" }]] }, ({ sideEffects }) => ({
    compensations: sideEffects.map(({ after, receipt, tool }) => ({
      tool,
      receipt: receipt!,
      after: after + 1,
      key: "k"
    }))
  })]
}

describe("laws about programs", () => {
  it("have each a program that breaks it", () =>
    assert.deepStrictEqual(Object.keys(broken).toSorted(), Object.keys(Programs.laws).toSorted()))

  for (const [name, [kept, change, of]] of Object.entries(broken)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const run = yield* Programs.observe(kept)
        const law = Programs.laws[name as Programs.ProgramLaw]
        const trial = { plain: run, streamed: run, interrupted: run }
        assert.deepStrictEqual(law(trial), [])
        // A law about each run is one about the streamed and the interrupted run, too.
        for (const which of of === undefined ? ["plain", "streamed", "interrupted"] as const : [of]) {
          assert.isAbove(law({ ...trial, [which]: { ...run, ...change(run) } }).length, 0, which)
        }
      }))
  }
})
