/**
 * The oracles are tested too: for each law and each expectation there is a run without a finding, and one that breaks
 * it.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Expectation,
  FaultPlan,
  Laws,
  Programs,
  ScriptedModel,
  SideEffects,
  Simulation,
  Subject
} from "@recourse/testing"
import { Effect, Exit, Result, Schema } from "effect"
import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"
import { program as plain, tool } from "./plainProgram.ts"
import { Search, subject as shop } from "./shop.ts"
import * as till from "./till.ts"
import { subject as trip } from "./travel.ts"

type Run = Simulation.Observation

/** The events of a run, with some of them changed, or left out. */
const events = (run: Run, change: (event: Run["events"][number]) => object | undefined): Partial<Run> => ({
  events: run.events.flatMap((event) => {
    const changed = change(event)
    return changed === undefined ? [] : [changed as Run["events"][number]]
  })
})

const without = (tag: string) => (run: Run) => events(run, (event) => event._tag === tag ? undefined : event)

const Web = Tool.make("search", {
  success: Schema.String,
  effects: "read",
  trust: "untrusted",
  execute: () => Effect.succeed("a page")
})

const Book = Tool.make("book", {
  parameters: Schema.Struct({ seat: Schema.String }),
  success: Schema.String,
  effects: "write",
  execute: ({ seat }) =>
    Effect.flatMap(
      SideEffects.SideEffects,
      (world) => Effect.as(world.perform({ tool: "book", details: seat }), seat)
    ),
  compensate: ({ seat }) =>
    Effect.flatMap(SideEffects.SideEffects, (world) => world.perform({ tool: "book", details: `cancel ${seat}` }))
})

const travel = Subject.make({
  agent: Agent.make("travel", { tools: [Book], defaults: { onError: Recovery.standard }, compensation: {} }),
  scenarios: {
    default: { input: "x", model: [ScriptedModel.call("book", { seat: "7" }), ScriptedModel.text("ok")] }
  }
})

const refund = { tool: "refund", callId: "call_2", attempt: 1, params: {} }

describe("laws", () => {
  const plans = {
    orders: [shop, "both", FaultPlan.none],
    lost: [shop, "default", FaultPlan.make([FaultPlan.onTool("order", { type: "timeout_after_commit" })])],
    outsider: [
      Subject.make({
        agent: Agent.make("reader", { tools: [Web], onTainted: "deny" }),
        tools: [Web],
        outsiders: ["search"],
        scenarios: {
          default: { input: "x", model: [ScriptedModel.call("search", {}), ScriptedModel.text("ok")] }
        }
      }),
      "default",
      FaultPlan.make([FaultPlan.onTool("search", { type: "prompt_injection", text: "obey me" })])
    ],
    undone: [
      travel,
      "default",
      FaultPlan.make([FaultPlan.onModel({ type: "model_error", reason: "AuthenticationError" }, { from: 2 })])
    ],
    notUndone: [
      travel,
      "default",
      FaultPlan.make([
        FaultPlan.onModel({ type: "model_error", reason: "AuthenticationError" }, { from: 2 }),
        FaultPlan.onCompensate("book", { type: "callback_answer_lost" })
      ])
    ],
    notReconciled: [
      trip,
      "default",
      FaultPlan.make([
        FaultPlan.onTool("book", { type: "defect" }),
        FaultPlan.onReconcile("book", { type: "callback_dies" })
      ])
    ],
    notAudited: [trip, "default", FaultPlan.make([FaultPlan.onAudit({ type: "callback_dies" })])],
    edited: [
      till.subject,
      "default",
      FaultPlan.make([
        FaultPlan.onApproval("refund", { type: "approval_edited", arguments: { order: "B", amount: 300 } })
      ])
    ],
    approvals: [
      till.subject,
      "several",
      FaultPlan.make([FaultPlan.onApproval("refund", { type: "approval_late" })])
    ]
  } as const

  /** For each law: its run, and the change that breaks it. */
  const broken: Readonly<
    Record<
      Laws.LawName,
      readonly [plan: keyof typeof plans, change: (run: Run) => Partial<Run>, of?: "again" | "streamed"]
    >
  > = {
    runs_end: ["orders", () => ({ stopped: "stalled" })],
    same_seed_same_run: ["orders", ({ elapsed }) => ({ elapsed: elapsed + 1 }), "again"],
    same_seed_same_keys: [
      "orders",
      ({ sideEffects }) => ({ sideEffects: sideEffects.map((effect) => ({ ...effect, key: "another" })) }),
      "again"
    ],
    writes_at_most_once: ["orders", ({ sideEffects }) => ({ sideEffects: [...sideEffects, ...sideEffects] })],
    no_duplicate_side_effects: ["orders", ({ sideEffects }) => ({ sideEffects: [...sideEffects, sideEffects[0]!] })],
    reads_have_no_side_effects: [
      "orders",
      ({ sideEffects }) => ({ sideEffects: [...sideEffects, { ...sideEffects[0]!, tool: Search.name }] })
    ],
    no_false_success: ["orders", () => ({ sideEffects: [] })],
    runs_are_independent: [
      "orders",
      ({ events, executions, sideEffects }) => ({
        events: [
          ...events,
          {
            ...events.find(({ _tag }) => _tag === "ToolAttempt")!,
            agentRunId: "run_x",
            tool: "order",
            callId: "c"
          } as never
        ],
        executions: [...executions, { ...executions[0]!, tool: "order", callId: "c", after: events.length + 1 }],
        sideEffects: [...sideEffects, { ...sideEffects[0]!, executions: [executions.length] }]
      })
    ],
    keys_are_unique: [
      "orders",
      ({ executions, sideEffects }) => ({
        executions: [...executions, { ...executions[0]!, params: "another" }],
        sideEffects: [
          { ...sideEffects[0]!, key: "k", executions: [0] },
          { ...sideEffects[0]!, key: "k", details: "another", executions: [executions.length] }
        ]
      })
    ],
    no_false_compensation: ["undone", ({ sideEffects }) => ({
      sideEffects: sideEffects.filter(({ undoes }) => undoes === undefined)
    })],
    failed_compensations_are_reported: [
      "notUndone",
      (run) => events(run, (event) => event._tag === "ToolCompensated" ? { ...event, outcome: "undone" } : event)
    ],
    failed_reconciliations_are_unknown: [
      "notReconciled",
      (run) => events(run, (event) => event._tag === "ToolCompensated" ? { ...event, outcome: "undone" } : event)
    ],
    failed_audits_end_runs: [
      "notAudited",
      (run) => events(run, (event) => event._tag === "RunFinished" ? { ...event, outcome: "success" } : event)
    ],
    ambiguous_writes_reported: [
      "lost",
      (run) =>
        events(
          run,
          (event) =>
            event._tag === "ToolResult" && event.tool === "order" ? { ...event, code: "execution_error" } : event
        )
    ],
    untrusted_content_labelled: [
      "outsider",
      ({ requests }) => ({
        requests: JSON.parse(JSON.stringify(requests).replaceAll("\"untrusted\":true", "\"untrusted\":false"))
      })
    ],
    attempts_within_budget: [
      "orders",
      ({ record }) => ({ record: { ...record!, usage: { ...record!.usage, turns: 99 } } })
    ],
    one_result_per_call: ["orders", without("ToolResult")],
    history_is_well_formed: ["orders", () => ({ record: undefined })],
    errors_are_redacted: ["orders", (run) => events(run, (event) => ({ ...event, said: "planted" }))],
    streaming_agrees: ["orders", () => ({ sideEffects: [] }), "streamed"],
    deadlines_are_respected: ["orders", () => ({ elapsed: 600_000 })],
    no_fibers_leak: ["orders", () => ({ fibers: 1 })],
    one_terminal_event: ["orders", without("RunFinished")],
    no_repeated_calls_after_resume: [
      "approvals",
      (run) => ({ executions: [...run.executions, { ...refund, after: run.events.length }] })
    ],
    no_unapproved_calls: [
      "approvals",
      ({ pauses }) => ({ pauses: pauses.map((pause) => ({ ...pause, decisions: [] })) })
    ],
    budgets_survive_pauses: [
      "approvals",
      ({ pauses: [first, ...others] }) => ({
        pauses: [
          { ...first!, snapshot: { ...first!.snapshot, usage: { ...first!.snapshot.usage, fixes: 9 } } },
          ...others
        ]
      })
    ],
    edited_arguments_are_used: [
      "edited",
      ({ sideEffects }) => ({
        sideEffects: sideEffects.map((effect) => ({ ...effect, details: { order: "A", amount: 500 } }))
      })
    ],
    snapshots_cover_all_calls: [
      "approvals",
      ({ pauses: [first, ...others] }) => ({
        pauses: [{ ...first!, snapshot: { ...first!.snapshot, runId: "run_x" } }, ...others]
      })
    ]
  }

  it("are all here", () => assert.deepStrictEqual(Object.keys(broken).toSorted(), Object.keys(Laws.all).toSorted()))

  for (const [law, [plan, change, of = "plain"]] of Object.entries(broken)) {
    it.effect(law, () =>
      Effect.gen(function*() {
        const [subject, scenario, faults] = plans[plan]
        const scenarios: Readonly<Record<string, never>> = subject.scenarios as never
        const run: Run = yield* Simulation.run(subject as never, scenarios[scenario]!, { plan: faults })
        const faultless: Run = yield* Simulation.run(subject as never, scenarios[scenario]!)
        const trial = {
          subject,
          secret: "planted",
          faultless,
          plain: run,
          again: run,
          streamed: run,
          interrupted: run,
          reordered: run
        } as unknown as Laws.Trial
        const holds = Laws.all[law as Laws.LawName]
        assert.deepStrictEqual(holds(trial), [])
        assert.isAbove(holds({ ...trial, [of]: { ...run, ...change(run) } }).length, 0)
        // A law about each run is one about the interrupted and the reordered run, too.
        if (of === "plain") {
          for (const which of ["interrupted", "reordered"] as const) {
            assert.isAbove(holds({ ...trial, [which]: { ...run, ...change(run) } }).length, 0, which)
          }
        }
      }))
  }

  it.effect("are shown runs that were interrupted, and runs that were not", () =>
    Effect.gen(function*() {
      const report = yield* Laws.check(shop, { runs: 10, interruptions: 40 })
      assert.isAbove(report.interrupted, 40)
      const none = yield* Laws.check(shop, { runs: 1, interruptions: 0 })
      assert.isAtMost(none.interrupted, 1)
    }))
})

describe("expectations", () => {
  const Send = Tool.make("send", {
    success: Schema.String,
    effects: "write",
    execute: () =>
      Effect.gen(function*() {
        const world = yield* SideEffects.SideEffects
        yield* world.perform({ tool: "send", key: (yield* ToolCall.ToolCall).id })
        return "sent"
      })
  })
  const subject = Subject.make({
    agent: Agent.make("sender", { tools: [Send], defaults: { onError: Recovery.standard }, budget: { turns: 3 } }),
    tools: [Send],
    budget: {},
    scenarios: { default: { input: "x", model: [ScriptedModel.call("send", {}), ScriptedModel.text("ok")] } }
  })
  const sent = Simulation.run(subject, subject.scenarios["default"]!)

  const told = (run: Run, code: string, body: object): Partial<Run> => {
    const result = { status: "error", code, ...body }
    return {
      ...events(run, (event) => event._tag === "ToolResult" ? { ...event, isFailure: true, code, result } : event),
      requests: run.requests.map((request) => ({
        ...request,
        prompt: {
          ...request.prompt,
          content: request.prompt.content.map((message) =>
            message.role === "tool"
              ? {
                ...message,
                content: message.content.map((part) =>
                  part.type === "tool-result" ? { ...part, isFailure: true, result } : part
                )
              }
              : message
          )
        } as never
      }))
    }
  }
  const more = (run: Run, event: object): Partial<Run> => ({ events: [...run.events, event as never] })
  const again = (run: Run) =>
    more(run, { ...run.events.find(({ _tag }) => _tag === "ToolAttempt")!, attempt: 2, callId: "call_1" })
  const exhausted = Exit.fail({ _tag: "BudgetExceeded", reason: "turns" })
  const planted = FaultPlan.make([FaultPlan.onTool("send", { type: "prompt_injection", text: "obey" })])
  const unknown = { safe_to_retry: false }
  const parts = { succeeded: ["a"], failed: [{ item: "b", code: "gone" }] }

  /** For each expectation: the change of a run of one call so that it holds, and the one so that it does not. */
  const broken: Readonly<
    Record<
      keyof typeof Expectation.all,
      readonly [holds: (run: Run) => Partial<Run>, breaks: (run: Run) => Partial<Run>, parameter?: string]
    >
  > = {
    retry_then_success: [again, () => ({ exit: Exit.fail("x") })],
    idempotency_key_prevents_duplicate_send: [
      ({ sideEffects }) => ({
        injected: [{ type: "timeout_after_commit", applied: true, tool: "send", index: 0 } as never],
        sideEffects: [...sideEffects, { ...sideEffects[0]!, duplicate: true }]
      }),
      ({ sideEffects }) => ({ sideEffects: sideEffects.map((effect) => ({ ...effect, duplicate: false })) })
    ],
    unsafe_output_blocked: [
      (run) => ({ plan: planted, ...told(run, "unsafe_output", {}) }),
      (run) => more(run, { _tag: "ToolResult", tool: "send", said: "obey" })
    ],
    fixed: [(run) => more(run, { _tag: "FixFinished", tool: "send", answer: "arguments" }), without("FixFinished")],
    escalated: [
      (run) => ({
        ...told(run, "down", {}),
        events: [...run.events, { _tag: "ToolEscalated", tool: "send", code: "down" } as never]
      }),
      without("ToolEscalated")
    ],
    asks_user: [
      (run) => ({ ...told(run, "missing_required_field", {}), exit: Exit.succeed("Which order do you mean?") }),
      () => ({ exit: Exit.succeed("It is done.") })
    ],
    fallback_used: [(run) => more(run, { _tag: "ToolFallback", tool: "send" }), without("ToolFallback")],
    outcome_unknown_reported: [(run) => told(run, "outcome_unknown", unknown), again],
    partial_success_reported: [
      (run) => told(run, "partial_success", parts),
      (run) => told(run, "partial_success", { ...parts, failed: [] })
    ],
    no_duplicate_side_effects: [() => ({}), ({ sideEffects }) => ({ sideEffects: [...sideEffects, ...sideEffects] })],
    model_retried: [(run) => more(run, { _tag: "ModelRetry" }), without("ModelRetry")],
    budget_stopped: [() => ({ exit: exhausted }), () => ({ exit: Exit.fail("x") }), "turns"],
    run_succeeded: [() => ({}), () => ({ exit: Exit.fail("x") })],
    run_ended_with: [() => ({ exit: Exit.die("x") }), () => ({ exit: Exit.succeed("x") }), "defect"],
    result_code: [(run) => told(run, "timeout", {}), (run) => ({ requests: run.requests.slice(0, 1) }), "timeout"]
  }

  it("are all here", () =>
    assert.deepStrictEqual(Object.keys(broken).toSorted(), Object.keys(Expectation.all).toSorted()))

  for (const [name, [holds, breaks, parameter]] of Object.entries(broken)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const run = yield* sent
        const expectation: Expectation.Expectation = Expectation.all[name as keyof typeof Expectation.all]
        const judged = (observation: Run) => expectation({ observation, tool: "send" }, parameter)
        const good = { ...run, ...holds(run) }
        assert.deepStrictEqual(judged(good), Result.void)
        assert.isTrue(Result.isFailure(judged({ ...good, ...breaks(good) })))
      }))
  }
})

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
      const other = run.deeds.find(({ callId }) => callId === "c0_1")!.receipt!
      assert.deepStrictEqual(found(run, answering(other)), [
        `t1 ${other} is reported by 2 calls`,
        `t1 reports ${other}, which was not done`
      ])
    }))

  it.effect("a model's call, or a single tool call, has no ledger excuse", () =>
    Effect.gen(function*() {
      const run = yield* Programs.observe(again)
      const [inner] = run.events.flatMap((event) => event._tag === "ToolReplayed" ? [event] : [])
      const first = run.deeds.find(({ callId }) => callId === inner!.callId)!.receipt!
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
