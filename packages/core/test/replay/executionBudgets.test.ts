/** One budget over all executions of a run. */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Schema } from "effect"
import type { Tool } from "@recourse/core"
import { Agent, Budget, IdempotencyLedger, Journal, Recovery, ToolCall } from "@recourse/core"
import { type CutAt, cuts } from "../support/interruptedRuns.ts"
import { Busy, busy, retried, tool, worldOf } from "../support/interruptedExecutions.ts"

describe("a budget over all executions of a run", () => {
  const Q = Schema.Struct({ q: Schema.String })
  type Options = { readonly budget: Budget.Budget; readonly extends?: Budget.Budget; readonly fails?: boolean }
  /** An agent that calls a keyed write, and an agent that calls it, in turns. */
  const spending = ({ budget, extends: more, fails = false }: Options) => {
    const { life, world } = worldOf()
    const Pay = retried(
      world,
      tool(
        world,
        "pay",
        () =>
          Effect.flatMap(ToolCall.ToolCall, ({ attempt }) => attempt === 1 || fails ? busy() : Effect.succeed("paid")),
        { effects: "write", idempotency: true, failure: Busy }
      ),
      1
    )
    const inner = Agent.make("inner", {
      instructions: "inner",
      input: Q,
      tools: [Pay],
      defaults: { onError: Recovery.keepGoing }
    } as never).pipe(
      Agent.asTool("ask", { description: "Asks", parameters: Q, success: Schema.String }) as never
    ) as never as Tool.Any
    const agent = Agent.make("outer", {
      tools: [Pay, inner],
      defaults: { onError: Recovery.keepGoing },
      budget,
      ...(more === undefined ? undefined : { onBudgetExceeded: () => Effect.succeed(Budget.extend(more)) })
    } as never) as never as Agent.Agent<string, string, unknown, never>
    const turnOf = ({ prompt }: ScriptedModel.Request) =>
      prompt.content.filter(({ role }) => role === "assistant").length
    const model = ScriptedModel.layer((request) => {
      const turn = turnOf(request)
      if (request.prompt.content[0]?.role === "system") {
        return turn === 0 ? ScriptedModel.call("pay", {}, { id: "p" }) : ScriptedModel.text("asked")
      }
      return turn > 5
        ? ScriptedModel.text("done")
        : turn % 2 === 0
        ? ScriptedModel.call("pay", {}, { id: `p${turn}` })
        : ScriptedModel.call("ask", { q: "?" }, { id: `a${turn}` })
    })
    const live = (cut?: CutAt) =>
      Effect.suspend(() =>
        Drive.drive(
          agent.report("go", { runId: "run_1" }).pipe(Effect.provideService(Journal.CurrentJournal, life(cut))),
          { step: "1 second" }
        )
      )
    return { world, live, layer: Layer.merge(model, Layer.fresh(IdempotencyLedger.layerMemory)) }
  }
  const within = <A>(
    options: Options,
    use: (lives: Omit<ReturnType<typeof spending>, "layer">) => Effect.Effect<A>
  ) =>
    Effect.suspend(() => {
      const { layer, ...lives } = spending(options)
      return use(lives).pipe(Effect.provide(layer))
    })
  const cases: Readonly<Record<string, Options & { readonly ends: boolean }>> = {
    "turns that are enough": { budget: { turns: 13 }, ends: true },
    turns: { budget: { turns: 8 }, ends: false },
    "turns that are extended": { budget: { turns: 5 }, extends: { turns: 4 }, ends: true },
    toolCalls: { budget: { toolCalls: 7 }, ends: false },
    tokens: { budget: { tokens: 100 }, ends: false },
    retriesPerTool: { budget: { retriesPerTool: 3 }, ends: true },
    "calls in a row": { budget: { sameToolInARow: 1 }, ends: true },
    "rounds that all fail": { budget: { allFailureRounds: 1 }, fails: true, ends: false }
  }
  for (const [name, { ends, ...options }] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const whole = yield* within(options, ({ live, world }) => Effect.map(live(), (report) => ({ report, world })))
        assert.strictEqual(Exit.isSuccess(whole.report.exit), ends, String(whole.report.exit))
        const size = whole.world.kept.size
        for (const { about, ...cut } of cuts(size, Math.ceil(size / 4))) {
          yield* within(options, ({ live, world }) =>
            Effect.gen(function*() {
              yield* live(cut)
              const { exit, usage } = yield* live()
              assert.deepStrictEqual(Exit.findErrorOption(exit), Exit.findErrorOption(whole.report.exit), about)
              // The ledger answers a call whose outcome was not recorded, and the answer is not charged: the run may come one step further.
              assert.include(cut.behind ? [size] : [size, size + 1], world.kept.size, about)
              if (cut.behind) assert.deepStrictEqual(usage, whole.report.usage, about)
            }))
        }
      }))
  }
})
