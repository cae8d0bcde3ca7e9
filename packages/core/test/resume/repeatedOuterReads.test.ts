/** A call with a person's decision runs, and its outer read is repeated: earlier inner calls keep their results. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Agent, AgentEvent, Approval, Recovery, Tool, type ToolCall } from "@recourse/core"

const Args = Schema.Struct({ amount: Schema.Number })

type Named = Tool.Any & { readonly call: Effect.Effect<number, unknown, ToolCall.ToolCall> }
type Lead = Agent.Agent<string, string, unknown, never> & Agent.Resumable<string, string, unknown, never, never>

const tool = (
  name: string,
  execute: (amount: number) => Effect.Effect<number, unknown, ToolCall.ToolCall>,
  more = {}
) =>
  Tool.make(name, {
    parameters: Args,
    success: Schema.Number,
    effects: "read",
    execute: ({ amount }: typeof Args.Type) => execute(amount),
    ...more
  } as never) as never as Named

const levels: Readonly<Record<string, (inner: Named) => Named>> = {
  "directly within it": (inner) => inner,
  "within a read that it calls": (inner) => tool("middle", () => inner.call, { mayRequestApproval: true })
}

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

/** Runs here have the same ids as those of other tests. */
const resumptions = Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) })

let runs = 0

describe("a call that was decided about", () => {
  for (const [level, around] of Object.entries(levels)) {
    for (const effects of ["read", "idempotent", "write"] as const) {
      for (const decide of ["approve", "edit"] as const) {
        it.effect(`${level}, ${effects}, ${decide}: each start has one result`, () =>
          Effect.gen(function*() {
            const ran: Array<number> = []
            let attempts = 0
            const inner = tool("inner", (amount) => Effect.sync(() => (ran.push(amount), amount)), {
              effects,
              needsApproval: true
            })
            const within = around(inner)
            const outer = tool(
              "outer",
              () =>
                Effect.flatMap(within.call, (said) => ++attempts === 1 ? Effect.fail("down") : Effect.succeed(said)),
              { mayRequestApproval: true }
            ).pipe(Tool.onError(Recovery.retry({ times: 2 } as never) as never))
            const lead = () =>
              Agent.make("lead", { tools: [outer], defaults: { onError: Recovery.standard } } as never) as never as Lead
            const events: Array<AgentEvent.AgentEvent> = []
            const live = (run: Effect.Effect<Approval.Outcome<string>, unknown>) =>
              Effect.map(
                VirtualTime.run(
                  Effect.provide(
                    run,
                    Layer.mergeAll(
                      key,
                      resumptions,
                      AgentEvent.listen((event) => Effect.sync(() => void events.push(event))),
                      ScriptedModel.layer(({ prompt }) =>
                        prompt.content.at(-1)?.role === "tool"
                          ? ScriptedModel.text("done")
                          : ScriptedModel.call("outer", { amount: 500 }, { id: "c" })
                      )
                    )
                  ) as typeof run,
                  { identity: ++runs }
                ),
                ({ exit }) => {
                  if (Exit.isFailure(exit)) throw new Error(Cause.pretty(exit.cause))
                  return exit.value
                }
              )
            const paused = (yield* live(lead().start("go"))) as Approval.Paused
            events.length = 0
            const decisions = paused.pending.map((call) =>
              decide === "approve" ? Approval.approve(call) : Approval.edit(call, { amount: 90 })
            )
            const outcome = yield* live(lead().resume(JSON.parse(JSON.stringify(paused.snapshot)), decisions))
            const amount = decide === "approve" ? 500 : 90
            assert.strictEqual(outcome._tag, "Completed")
            assert.deepStrictEqual(ran, effects === "write" ? [amount] : [amount, amount])
            const idsOf = (tag: AgentEvent.AgentEvent["_tag"]) =>
              events.flatMap((event) => event._tag === tag && "callId" in event ? [event.callId] : []).sort()
            assert.deepStrictEqual(idsOf("ToolResult"), idsOf("ToolCallStarted"))
          }))
      }
    }
  }
})
