/** A run that ends sooner in its second life than in the first, by a call beside one that the first life has begun: that is never told as not done. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Schema } from "effect"
import { Agent, IdempotencyLedger, Journal, Recovery, Tool } from "@recourse/core"
import { cuts, journalOf } from "./cutOff.ts"
import { collect } from "./kit.ts"

type AnyTool = Tool.Tool<string, Schema.Struct<{}>, Schema.String, never, never>

const toolOf = (name: string, options: object): AnyTool =>
  Tool.make(name, { success: Schema.String, ...options } as never) as never

/** What the call does, each in its own way. */
const ways: Readonly<Record<string, (pay: (more: object) => AnyTool) => AnyTool>> = {
  "a write": (pay) => pay({ effects: "write" }),
  "a write with a key": (pay) => pay({ effects: "write", idempotency: true }),
  "a write that may be repeated": (pay) => pay({ effects: "idempotent" }),
  "a tool that does not say": (pay) => pay({}),
  "a tool that calls a write": (pay) =>
    toolOf("outer", { effects: "read", execute: () => pay({ effects: "write" }).call }).pipe(
      Tool.onError(Recovery.escalate("ExecutionError") as never)
    ) as never,
  "an agent that writes under a key": (pay) =>
    Agent.make("clerk", {
      input: Schema.Struct({}),
      prompt: () => "pay",
      tools: [pay({ effects: "write", idempotency: true })],
      defaults: { onError: Recovery.keepGoing }
    }).pipe(
      Agent.asTool("outer", { description: "Pays", parameters: Schema.Struct({}), success: Schema.String })
    ) as never
}

describe("a call that an earlier life has begun, in a run that ends sooner now, is not told as not done", () => {
  for (const [name, wayOf] of Object.entries(ways)) {
    for (const isFirst of [true, false]) {
      it.effect(`${name}, ${isFirst ? "behind" : "before"} the call that ends the run`, () =>
        Effect.gen(function*() {
          let unknown = 0
          for (const cut of cuts(6)) {
            const paid: Array<number> = []
            const { life } = journalOf()
            const live = (number: number) => {
              const pay = (more: object) =>
                toolOf("pay", {
                  execute: () =>
                    Effect.andThen(Effect.sync(() => paid.push(number)), Effect.as(Effect.sleep("1 second"), "paid")),
                  ...more
                })
              const tool = wayOf(pay)
              // In the first life it takes its time, and fails at once in the next.
              const breaks = toolOf("breaks", {
                effects: "read",
                execute: () => number === 0 ? Effect.as(Effect.sleep("10 seconds"), "well") : Effect.fail("broken")
              })
              const names = isFirst ? ["breaks", tool.name] : [tool.name, "breaks"]
              const { events, layer } = collect()
              const run = Agent.make("main", { tools: [breaks, tool] } as never).run("go", { runId: "run_1" })
              return Drive.drive(
                Effect.map(
                  Effect.exit(run as Effect.Effect<unknown, unknown>),
                  (exit) => ({ events, exit, tool: tool.name })
                ).pipe(
                  Effect.provide([
                    ScriptedModel.layer(({ prompt, tools }) =>
                      prompt.content.some(({ role }) => role === "tool")
                        ? ScriptedModel.text("done")
                        : tools.includes("breaks")
                        ? ScriptedModel.calls(names.map((name) => ({ name, params: {}, id: `c ${name}` })))
                        : ScriptedModel.call("pay", {}, { id: "p" })
                    ),
                    layer,
                    Layer.fresh(IdempotencyLedger.layerMemory)
                  ]),
                  Effect.provideService(Journal.CurrentJournal, life(number === 0 ? cut : undefined).journal)
                )
              )
            }
            yield* live(0)
            const before = paid.length
            const { events, exit, tool } = yield* live(1)
            // The first life had all of both calls.
            if (Exit.isSuccess(exit)) continue
            const told = events.flatMap((event) =>
              event._tag === "ToolResult" && event.callId === `c ${tool}` ? [event.code ?? "ok"] : []
            )
            if (before > 0) assert.notInclude(told, "not_run", cut.about)
            if (told.includes("outcome_unknown")) unknown++
          }
          assert.isAbove(unknown, 0)
        }))
    }
  }
})
