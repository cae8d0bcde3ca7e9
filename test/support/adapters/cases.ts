/** Cases of recovery in the loop of another library: one table for all adapters. */
import { assert } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Approval, IdempotencyLedger, Policy, Recovery, Tool, ToolRun } from "@recourse/core"
import type { Conversed, Loop, ScriptedCall } from "./loop.ts"
import { shop } from "./shop.ts"

/** A case of the table. */
export interface Case {
  readonly title: string
  readonly run: (loop: Loop) => Promise<void>
}

const call = (id: string, name: string, args: unknown = {}): ScriptedCall => ({
  id,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args)
})

const orders = (id = "c1", order = "7") => call(id, "orders", { order })
const refund = (id = "c1", order = "7") => call(id, "refund", { order })
const defaults = { onError: Recovery.standard }
const ledger = IdempotencyLedger.layerMemory

/** A ledger that outlives its runs, as a database does. */
const sharedLedger = async () => {
  const services = await Effect.runPromise(Effect.scoped(Layer.build(ledger)))
  return Layer.succeedContext(services)
}

/** The JSON that the model read. */
const jsonOf = ({ error, results }: Conversed, id = "c1"): Record<string, unknown> => {
  if (error !== undefined) throw error
  const text = results[id]
  assert.isDefined(text, `the model has read no result of ${id}`)
  return JSON.parse(text!) as Record<string, unknown>
}

/** Runs a script in one run, and ends the run. */
const conversed = async (loop: Loop, run: ToolRun.Any, ...turns: ReadonlyArray<ReadonlyArray<ScriptedCall>>) => {
  const conversation = await loop.converse({ run, script: [...turns, "Done."] })
  const report = await run.endPromise()
  return { ...conversation, report }
}

const retry: Case = {
  title: "retries a read within its call",
  run: async (loop) => {
    const { RetriedOrders, requests } = shop(["down", "down"])
    const run = await ToolRun.open("loop", { tools: [RetriedOrders] })
    const ended = await conversed(loop, run, [orders()])
    assert.deepStrictEqual(jsonOf(ended), { order: "7", state: "shipped" })
    assert.deepStrictEqual([requests(), ended.requests, ended.text], [3, 2, "Done."])
  }
}

const invalid: Case = {
  title: "gives the fields of invalid arguments to the model",
  run: async (loop) => {
    const { Orders, requests } = shop()
    const run = await ToolRun.open("loop", { tools: [Orders], defaults })
    const ended = await conversed(loop, run, [call("c1", "orders", { order: 7, page: "x" })])
    const { code, issues } = jsonOf(ended) as { code: string; issues: ReadonlyArray<{ path: unknown }> }
    assert.strictEqual(code, "invalid_arguments")
    assert.deepStrictEqual(issues.map(({ path }) => path), [["order"], ["page"]])
    assert.strictEqual(requests(), 0)
  }
}

const brokenJson: Case = {
  title: "repairs arguments that are no JSON",
  run: async (loop) => {
    const { RepairedOrders } = shop()
    const run = await ToolRun.open("loop", { tools: [RepairedOrders] })
    const ended = await conversed(loop, run, [call("c1", "orders", "{\"order\": \"7\"")])
    assert.deepStrictEqual(jsonOf(ended), { order: "7", state: "shipped" })
  }
}

const lostAnswer: Case = {
  title: "reports a write without an answer as unknown, and does not repeat it",
  run: async (loop) => {
    const { Refund, refunds } = shop(["lost"])
    const run = await ToolRun.open("loop", { tools: [Refund], defaults })
    const ended = await conversed(loop, run, [refund()])
    assert.deepInclude(jsonOf(ended), { code: "outcome_unknown", safe_to_retry: false })
    assert.strictEqual(refunds.size, 1)
    assert.deepStrictEqual(ended.report.executed.map(({ outcome }) => outcome), ["unknown"])
  }
}

const keyed: Case = {
  title: "repeats a keyed write under its key",
  run: async (loop) => {
    const { KeyedRefund, refunds, requests } = shop(["lost"])
    const run = await ToolRun.open("loop", { tools: [KeyedRefund], defaults, layer: ledger })
    const ended = await conversed(loop, run, [refund()])
    assert.deepStrictEqual([ended.results["c1"], requests(), refunds.size], ["refunded 7", 2, 1])
    assert.isFalse([...refunds.keys()].some((key) => key.startsWith("request")))
  }
}

const restarted: Case = {
  title: "answers a restarted run from the ledger",
  run: async (loop) => {
    const { KeyedRefund, refunds, requests } = shop()
    const layer = await sharedLedger()
    const once = async () => {
      const run = await ToolRun.open("loop", { tools: [KeyedRefund], defaults, layer, runId: "run_1" })
      return conversed(loop, run, [refund()])
    }
    await once()
    const again = await once()
    assert.deepStrictEqual([again.results["c1"], requests(), refunds.size], ["refunded 7", 1, 1])
  }
}

const fallback: Case = {
  title: "marks the answer of a fallback",
  run: async (loop) => {
    const { CachedOrders } = shop(["down"])
    const run = await ToolRun.open("loop", { tools: [CachedOrders], defaults })
    const ended = await conversed(loop, run, [orders()])
    assert.deepStrictEqual(jsonOf(ended)["degraded"], { source: "cache" })
  }
}

const escalated: Case = {
  title: "gives the declared text of an escalated failure to the model",
  run: async (loop) => {
    const { RetriedOrders } = shop(["down", "down", "down"])
    const run = await ToolRun.open("loop", { tools: [RetriedOrders] })
    const ended = await conversed(loop, run, [orders()])
    assert.deepInclude(jsonOf(ended), { code: "upstream_error", message_for_model: "The service is down." })
  }
}

const timeout: Case = {
  title: "ends a silent read at its timeout",
  run: async (loop) => {
    const { RetriedOrders, signals } = shop(["silent", "silent", "silent"])
    const run = await ToolRun.open("loop", { tools: [RetriedOrders] })
    const ended = await conversed(loop, run, [orders()])
    assert.strictEqual(jsonOf(ended)["code"], "timeout")
    assert.deepStrictEqual(signals.map(({ aborted }) => aborted), [true, true, true])
  }
}

const silentWrite: Case = {
  title: "reports a write that timed out as unknown",
  run: async (loop) => {
    const { Refund } = shop(["silent"])
    const run = await ToolRun.open("loop", { tools: [Refund], defaults })
    assert.strictEqual(jsonOf(await conversed(loop, run, [refund()]))["code"], "outcome_unknown")
  }
}

const unhandled: Case = {
  title: "ends the loop with an error that no recovery handles",
  run: async (loop) => {
    const { Shut } = shop()
    const run = await ToolRun.open("loop", { tools: [Shut] })
    const ended = await conversed(loop, run, [call("c1", "shut")])
    assert.strictEqual(ended.text, undefined)
    assert.strictEqual(ended.requests, 1)
    assert.isDefined(ended.error)
    assert.deepInclude(run.signal.reason, { _tag: "ExecutionError" })
    assert.isTrue(Exit.isFailure(ended.report.exit))
  }
}

const defect: Case = {
  title: "ends the loop with a defect of a tool",
  run: async (loop) => {
    const { Broken } = shop()
    const run = await ToolRun.open("loop", { tools: [Broken], defaults })
    const ended = await conversed(loop, run, [call("c1", "broken")])
    assert.deepStrictEqual([ended.text, ended.requests], [undefined, 1])
    assert.isTrue(run.signal.aborted)
  }
}

const denied: Case = {
  title: "denies a call by a policy",
  run: async (loop) => {
    const { Refund, refunds } = shop()
    const run = await ToolRun.open("loop", {
      tools: [Refund],
      defaults,
      policies: [Policy.make("no refunds", ({ tool }) => tool === "refund" ? Policy.deny("closed") : Policy.allow)]
    })
    assert.strictEqual(jsonOf(await conversed(loop, run, [refund()]))["code"], "permission_denied")
    assert.strictEqual(refunds.size, 0)
  }
}

const approval: Case = {
  title: "runs a call that needs an approval once it has one",
  run: async (loop) => {
    const { Refund, refunds } = shop()
    const run = await ToolRun.open("loop", {
      tools: [Refund],
      defaults,
      policies: [Policy.make("ask", () => Policy.requireApproval("a person decides"), { mayRequestApproval: true })]
    })
    const ended = await loop.converse({ run, script: [[refund()], "I have asked."] })
    assert.strictEqual(jsonOf(ended)["code"], "approval_required")
    assert.strictEqual(refunds.size, 0)
    const waits = await run.callPromise(refund())
    if (waits._tag !== "ApprovalRequired") return assert.fail(waits._tag)
    const decided = await run.decidePromise(Approval.approve(waits.pending[0]!))
    assert.strictEqual(decided._tag, "Success")
    await run.endPromise()
    assert.strictEqual(refunds.size, 1)
  }
}

const budget: Case = {
  title: "ends the loop with the budget of the run",
  run: async (loop) => {
    const { Orders, requests } = shop()
    const run = await ToolRun.open("loop", { tools: [Orders], defaults, budget: { toolCalls: 2 } })
    const ended = await conversed(loop, run, [orders("c1", "1")], [orders("c2", "2")], [orders("c3", "3")])
    assert.deepStrictEqual([ended.text, ended.requests, requests()], [undefined, 3, 2])
    assert.deepInclude(run.signal.reason, { _tag: "BudgetExceeded", reason: "toolCalls" })
  }
}

const cancelled: Case = {
  title: "interrupts its call when the loop is aborted",
  run: async (loop) => {
    const { SlowRefund, requests, signals } = shop(["silent"])
    const run = await ToolRun.open("loop", { tools: [SlowRefund], defaults })
    const abort = new AbortController()
    const conversing = loop.converse({ run, script: [[refund()], "Done."], signal: abort.signal })
    while (requests() === 0) await new Promise((done) => setImmediate(done))
    abort.abort()
    await conversing
    const { executed } = await run.cancelPromise()
    assert.deepStrictEqual(executed.map(({ outcome }) => outcome), ["interrupted"])
    assert.isTrue(signals[0]?.aborted)
  }
}

const parallel: Case = {
  title: "gives parallel calls their own results",
  run: async (loop) => {
    const { RetriedOrders } = shop(["down"])
    const run = await ToolRun.open("loop", { tools: [RetriedOrders] })
    const ended = await conversed(loop, run, [orders("c1", "1"), orders("c2", "2"), orders("c3", "3")])
    const read = ["c1", "c2", "c3"].map((id) => jsonOf(ended, id)["order"])
    assert.deepStrictEqual(read, ["1", "2", "3"])
    assert.strictEqual(ended.report.usage.toolCalls, 4)
  }
}

/** Tools whose results the model reads in parts of their own. */
const drawing = (name: string, success: Schema.Top, value: unknown) =>
  (Tool.make as (name: string, options: object) => Tool.Any)(name, {
    success,
    effects: "read",
    toModelOutput: (result: unknown) => [Prompt.textPart({ text: `drawn ${JSON.stringify(result)}` })],
    execute: () => Effect.succeed(value)
  })

const parts: Case = {
  title: "gives the model the parts of results of each type",
  run: async (loop) => {
    const tools = [
      drawing("text", Schema.String, "home"),
      drawing("count", Schema.Finite, 5),
      drawing("struct", Schema.Struct({ page: Schema.String }), { page: "home" })
    ]
    const run = await ToolRun.open("loop", { tools, defaults } as never) as ToolRun.Any
    const { error, results } = await conversed(loop, run, tools.map(({ name }) => call(name, name)))
    assert.isUndefined(error)
    for (const [name, drawn] of Object.entries({ text: "home", count: 5, struct: "page" })) {
      assert.include(results[name], "drawn")
      assert.include(results[name], String(drawn))
    }
  }
}

const half = "a\ud800b"

const illFormed: Case = {
  title: "gives the model texts without half of a surrogate pair",
  run: async (loop) => {
    const tools = [
      Tool.make("text", { success: Schema.String, effects: "read", execute: () => Effect.succeed(half) }),
      Tool.make("part", {
        success: Schema.Null,
        effects: "read",
        toModelOutput: () => [Prompt.textPart({ text: half })],
        execute: () => Effect.succeed(null)
      })
    ]
    const run = await ToolRun.open("loop", { tools })
    const { results } = await conversed(loop, run, tools.map(({ name }) => call(name, name)))
    for (const { name } of tools) {
      assert.include(results[name], "a\ufffdb")
      assert.notInclude(results[name], "ud800")
    }
  }
}

const equal: Case = {
  title: "executes the first of equal writes of one answer",
  run: async (loop) => {
    const { Refund, requests } = shop()
    const run = await ToolRun.open("loop", { tools: [Refund], defaults })
    const ended = await conversed(loop, run, [refund("c1"), refund("c2"), refund("c3", "8")])
    assert.deepStrictEqual([ended.results["c1"], ended.results["c3"], requests()], ["refunded 7", "refunded 8", 2])
    assert.strictEqual(jsonOf(ended, "c2")["code"], "duplicate_call")
  }
}

const polled: Case = {
  title: "executes a read again whose id comes in each answer",
  run: async (loop) => {
    let polls = 0
    const Poll = Tool.make("poll", {
      success: Schema.String,
      effects: "read",
      execute: () => Effect.sync(() => `poll ${++polls}`)
    })
    const run = await ToolRun.open("loop", { tools: [Poll] })
    const ended = await conversed(loop, run, [call("call_0", "poll")], [call("call_0", "poll")])
    assert.deepStrictEqual([polls, ended.results["call_0"], ended.text], [2, "poll 2", "Done."])
  }
}

const reusedId: Case = {
  title: "executes an equal write of a later answer with the same id",
  run: async (loop) => {
    let cups = 0
    const Add = Tool.make("add_cup", {
      success: Schema.String,
      effects: "write",
      execute: () => Effect.sync(() => `cups: ${++cups}`)
    })
    const run = await ToolRun.open("loop", { tools: [Add], defaults })
    const ended = await conversed(loop, run, [call("call_0", "add_cup")], [call("call_0", "add_cup")])
    assert.deepStrictEqual([cups, ended.results["call_0"], ended.text], [2, "cups: 2", "Done."])
  }
}

const unknownTool: Case = {
  title: "continues when the model calls a tool that is not there",
  run: async (loop) => {
    const { Orders, requests } = shop()
    const run = await ToolRun.open("loop", { tools: [Orders], defaults })
    const ended = await conversed(loop, run, [call("c1", "order")], [orders("c2")])
    assert.deepStrictEqual([ended.text, requests()], ["Done.", 1])
  }
}

const oversized: Case = {
  title: "gives the model the beginning of a long result",
  run: async (loop) => {
    const { Report } = shop()
    const run = await ToolRun.open("loop", { tools: [Report] })
    const { results } = await conversed(loop, run, [call("c1", "report")])
    assert.include(results["c1"], "xxx")
    assert.isBelow(results["c1"]!.length, 1_000)
  }
}

const tainted: Case = {
  title: "marks untrusted text, and denies the write behind it",
  run: async (loop) => {
    const { Mail, Refund, refunds } = shop()
    const run = await ToolRun.open("loop", { tools: [Mail, Refund], defaults, onTainted: "deny" })
    const ended = await conversed(loop, run, [call("c1", "mail")], [refund("c2")])
    assert.deepInclude(jsonOf(ended), { untrusted: true, source: "mail" })
    assert.strictEqual(jsonOf(ended, "c2")["code"], "permission_denied")
    assert.strictEqual(refunds.size, 0)
  }
}

const streamed: Case = {
  title: "does the same in a stream",
  run: async (loop) => {
    const { KeyedRefund, RetriedOrders, Shut, refunds } = shop(["down", "works", "lost"])
    const tools = [RetriedOrders, KeyedRefund, Shut] as const
    const run = await ToolRun.open("loop", { tools, layer: ledger })
    const script = [[orders("c1")], [refund("c2")], [call("c3", "shut")], "Done."]
    const ended = await loop.converse({ run, script, isStreamed: true })
    await run.endPromise()
    assert.include(ended.results["c1"], "shipped")
    assert.deepStrictEqual([ended.results["c2"], refunds.size], ["refunded 7", 1])
    assert.deepStrictEqual([ended.text, ended.requests], [undefined, 3])
  }
}

/** The table, by name. */
export const cases = {
  retry,
  invalid,
  brokenJson,
  lostAnswer,
  keyed,
  restarted,
  fallback,
  escalated,
  timeout,
  silentWrite,
  unhandled,
  defect,
  denied,
  approval,
  budget,
  cancelled,
  parallel,
  parts,
  equal,
  unknownTool,
  oversized,
  tainted,
  polled,
  reusedId,
  illFormed,
  streamed
} as const satisfies Readonly<Record<string, Case>>

export type CaseName = keyof typeof cases
