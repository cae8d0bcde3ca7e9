/**
 * Calls of one answer: each has one start and one result, also if the run ends before it starts, and is charged once
 * over a pause.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Agent, Approval, ErrorProjection, Recovery, type RunRecord, Tool } from "@recourse/core"
import { Effect, Exit, Fiber, Layer, Redacted, Schema } from "effect"
import { collect, lastResults } from "../support/kit.ts"

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

type Agents =
  & Agent.Agent<string, string, unknown, never>
  & Agent.Resumable<string, string, unknown, never, never>

const tool = (name: string, execute: Effect.Effect<unknown, unknown>, options: object = {}): Tool.Any =>
  Tool.make(name, { success: Schema.Unknown, effects: "read", execute: () => execute, ...options } as never) as never

const agentOf = (tools: ReadonlyArray<Tool.Any>, options: object = {}): Agents =>
  Agent.make("desk", { tools, defaults: { onError: Recovery.standard }, ...options } as never) as never

const callsOf = (names: ReadonlyArray<string>) =>
  ScriptedModel.calls(names.map((name) => ({ id: name, name, params: {} })))

const answer = tool("answer", Effect.succeed("answered"))
const dies = tool("dies", Effect.die("no"))
const never = tool("never", Effect.never)

/** The events of a run whose calls are in one answer, and its final conversation. */
const played = (names: ReadonlyArray<string>, concurrency: number | "unbounded") =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    const report = yield* Drive.drive(
      agentOf([answer, dies, never], { concurrency }).report("go").pipe(
        Effect.provide(Layer.merge(layer, ScriptedModel.layer([callsOf(names)])))
      ) as Effect.Effect<RunRecord.RunRecord & { readonly exit: Exit.Exit<unknown, unknown> }>
    )
    const told = (tag: "ToolCallStarted" | "ToolResult") =>
      events.flatMap((event) => event._tag === tag ? [event.callId] : []).toSorted()
    assert.deepStrictEqual(told("ToolCallStarted"), names.toSorted())
    assert.deepStrictEqual(told("ToolResult"), names.toSorted())
    return {
      exit: report.exit,
      codes: lastResults(report.transcript).map(({ id, result }) => [id, (result as { readonly code?: string }).code])
    }
  })

describe("a call that ends the run", () => {
  for (const concurrency of [1, 2, 3, "unbounded"] as const) {
    it.effect(`before others start, in parallel or behind them: ${concurrency} at once`, () =>
      Effect.gen(function*() {
        const all = [
          ["dies", "answer", "nowhere"],
          ["answer", "dies", "nowhere"],
          ["answer", "answer 2", "dies", "answer 3", "nowhere"],
          ...(concurrency === 1 ? [] : [["never", "answer", "dies"], ["never", "dies", "answer", "nowhere"]])
        ].map((names) => names.filter((name) => !/\d/.test(name)))
        for (const names of all) {
          const { codes, exit } = yield* played(names, concurrency)
          assert.isTrue(Exit.isFailure(exit), `${names}`)
          assert.deepStrictEqual(codes.map(([id]) => id), names)
          const endedAt = names.indexOf("dies")
          assert.deepStrictEqual(codes[endedAt], ["dies", "not_run"])
          if (concurrency === 1) {
            for (const [id, code] of codes.slice(endedAt + 1)) assert.deepStrictEqual(code, "not_run", id)
          }
        }
      }))
  }

  it.effect("ending at its turn leaves no later events", () =>
    Effect.gen(function*() {
      for (const first of ["answer", "never"]) {
        for (let behind = 0; behind < 4; behind++) {
          const names = ["never", first, "dies", ...Array.from({ length: behind }, (_, n) => `late_${n}`)]
          const open: Array<string> = []
          const waits = (name: string) =>
            tool(
              name,
              Effect.onInterrupt(
                Effect.andThen(Effect.sync(() => open.push(name)), Effect.never),
                () => Effect.sync(() => void open.splice(open.indexOf(name), 1))
              )
            )
          const tools = [...new Set(names)].map((name) =>
            name === "answer" ? answer : name === "dies" ? dies : waits(name)
          )
          const asked = [...new Set(names)]
          const report = yield* Drive.drive(
            agentOf(tools, { concurrency: 2 }).report("go").pipe(
              Effect.provide(ScriptedModel.layer([callsOf(asked)]))
            ) as Effect.Effect<RunRecord.RunRecord & { readonly exit: Exit.Exit<unknown, unknown> }>
          )
          assert.isTrue(Exit.isFailure(report.exit))
          assert.deepStrictEqual(open, [])
          assert.deepStrictEqual(lastResults(report.transcript).map(({ id }) => id), asked)
        }
      }
    }))
})

describe("a call that interrupts its run", () => {
  for (const concurrency of [1, 2, 3, "unbounded"] as const) {
    it.effect(`interrupting at its turn ends before the run: ${concurrency} at once`, () =>
      Effect.gen(function*() {
        for (const names of [["answer", "answer_2", "ends"], ["answer", "never", "ends", "late"], ["ends", "late"]]) {
          if (concurrency === 1 && names.includes("never")) continue
          const { events, layer } = collect()
          let fiber: Fiber.Fiber<unknown, unknown> | undefined
          let isOver = false
          const ends = tool(
            "ends",
            Effect.ensuring(
              Effect.andThen(Effect.sync(() => fiber!.interruptUnsafe()), Effect.never),
              Effect.sync(() => isOver = true)
            )
          )
          const tools = names.map((name) =>
            name === "ends" ? ends : tool(name, name === "never" ? Effect.never : Effect.succeed(name))
          )
          fiber = yield* agentOf(tools, { concurrency }).run("go").pipe(
            Effect.provide(Layer.merge(layer, ScriptedModel.layer([callsOf(names)]))),
            Effect.forkChild
          )
          yield* Fiber.await(fiber)
          assert.isTrue(isOver)
          const told = (tag: "ToolCallStarted" | "ToolResult") =>
            events.flatMap((event) => event._tag === tag ? [event.callId] : []).toSorted()
          assert.deepStrictEqual(told("ToolResult"), names.toSorted())
          assert.deepStrictEqual(told("ToolCallStarted"), names.toSorted())
          assert.strictEqual(events.at(-1)?._tag, "RunFinished")
        }
      }))
  }
})

/** Resumes each pause by approving the pending calls. */
const approved = (agent: Agents, turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.gen(function*() {
    let outcome = yield* agent.start("go")
    for (let pauses = 0; outcome._tag === "Paused"; pauses++) {
      assert.isBelow(pauses, 9)
      const { pending, snapshot } = outcome
      outcome = yield* agent.resume(JSON.parse(JSON.stringify(snapshot)), pending.map((call) => Approval.approve(call)))
    }
    return outcome
  }).pipe(Effect.exit, Effect.provide([key, ScriptedModel.layer(ScriptedModel.steps(turns as never))]))

describe("a call that waits", () => {
  it.effect("counts once in a row of the same tool, also when resumed", () =>
    Effect.gen(function*() {
      for (const [limit, isGood] of [[2, true], [1, false]] as const) {
        let paid = 0
        const pay = tool("pay", Effect.sync(() => ++paid), { effects: "write", needsApproval: true })
        const exit = yield* approved(agentOf([pay], { budget: { sameToolInARow: limit } }), [
          ScriptedModel.call("pay", {}, { id: "a" }),
          ScriptedModel.call("pay", {}, { id: "b" }),
          ScriptedModel.text("done")
        ])
        assert.deepStrictEqual([Exit.isSuccess(exit), paid], isGood ? [true, 2] : [false, 1])
      }
    }))

  it.effect("resumes unchanged: reads of its answer taint only later calls", () =>
    Effect.gen(function*() {
      const did: Array<string> = []
      const fetch = tool("fetch", Effect.succeed("text"), { trust: "untrusted" })
      const does = (name: string, options: object) =>
        tool(name, Effect.sync(() => did.push(name)), { effects: "write", ...options })
      const agent = agentOf([fetch, does("pay", { needsApproval: true }), does("send", {})], { onTainted: "deny" })
      const exit = yield* approved(agent, [
        callsOf(["fetch", "pay"]),
        ScriptedModel.call("send", {}, { id: "s" }),
        ScriptedModel.text("done")
      ])
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(did, ["pay"])
    }))
})

class Closed extends Schema.TaggedError<Closed>()(
  "Closed",
  { because: Schema.String },
  ErrorProjection.declare(
    { code: "upstream_error", model: ({ because }: { readonly because: string }) => because } as never
  )
) {}

it.effect("an error with untrusted words taints the record of the run", () =>
  Effect.gen(function*() {
    const fetch = tool("fetch", Effect.succeed("text"), { trust: "untrusted" })
    const read = (fetch as never as { readonly call: Effect.Effect<string, never> }).call
    for (
      const [name, execute, taintedBy] of [
        ["reads", Effect.flatMap(read, (because) => Effect.fail(new Closed({ because }))), ["fetch"]],
        ["does not", Effect.fail(new Closed({ because: "Closed" })), []]
      ] as const
    ) {
      const fails = tool("fails", execute, { failure: Closed })
      const agent = agentOf([fails], { defaults: undefined })
      const report = yield* agent.report("go").pipe(
        Effect.provide(ScriptedModel.layer([callsOf(["fails"])]))
      ) as Effect.Effect<RunRecord.RunRecord & { readonly exit: Exit.Exit<unknown, unknown> }>
      assert.isTrue(Exit.isFailure(report.exit))
      assert.deepStrictEqual(report.taintedBy, taintedBy, `${name}: ${JSON.stringify(lastResults(report.transcript))}`)
    }
  }))
