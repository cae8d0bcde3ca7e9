/**
 * Replayed calls of a later execution: calls with similar paths in the journal are distinguished, so that a call's
 * started work is never attributed to another.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Schema } from "effect"
import { Agent, Journal, Policy, Recovery, Tool } from "@recourse/core"
import { type CutAt, journalOf } from "../support/interruptedRuns.ts"
import { collect } from "../support/kit.ts"

type AnyTool = Tool.Tool<string, Schema.Struct<{}>, Schema.String, never, never>

const toolOf = (name: string, execute: () => Effect.Effect<unknown, unknown>, effects: string): AnyTool =>
  Tool.make(name, { success: Schema.String, effects, execute } as never) as never

const write = toolOf("book", () => Effect.as(Effect.sleep("100 millis"), "booked"), "write")

/** A tool whose executor does something else. */
const bundle = (name: string, inner: () => Effect.Effect<unknown, unknown>): AnyTool =>
  toolOf(name, () => Effect.as(inner(), "bundled"), "idempotent")

const writing = () => write.call as Effect.Effect<unknown, unknown, unknown> as Effect.Effect<unknown, unknown>

const agentOf = (name: string, tool: AnyTool): AnyTool =>
  Agent.make("clerk", {
    instructions: name,
    input: Schema.Struct({}),
    prompt: () => "go",
    tools: [tool],
    defaults: { onError: Recovery.keepGoing }
  }).pipe(Agent.asTool(name, { description: "Works", parameters: Schema.Struct({}), success: Schema.String })) as never

interface Lives {
  readonly calls: ReadonlyArray<{ readonly id: string; readonly name: string }>
  /** The calls of an agent, by its name. */
  readonly within?: Readonly<Record<string, { readonly id: string; readonly name: string }>>
  readonly cut: CutAt
  /** The tools of an execution, the first one is 0. */
  readonly tools: (life: number) => ReadonlyArray<AnyTool>
  /** The call that the second execution reaches late. */
  readonly late?: string
}

/** The second execution's reports of a call. */
const lives = ({ calls, cut, late, tools, within = {} }: Lives) =>
  Effect.gen(function*() {
    const { kept, life } = journalOf()
    const live = (number: number) => {
      const { journal } = life(number === 0 ? cut : undefined)
      const { events, layer } = collect()
      const slow = Policy.make("slow", () => Effect.as(Effect.sleep("1 minute"), Policy.allow))
      const options = number === 1 && late !== undefined ? { policies: [slow.pipe(Policy.forTools(late))] } : {}
      const agent = Agent.make("main", {
        instructions: "main",
        tools: tools(number),
        defaults: { onError: Recovery.keepGoing },
        ...options
      } as never)
      const run = agent.run("go", { runId: "run_1" }) as Effect.Effect<unknown, unknown>
      return Drive.drive(
        Effect.map(Effect.exit(run), (exit) => ({ events, exit })).pipe(
          Effect.provide([
            ScriptedModel.layer(({ prompt }) => {
              const { content } = prompt.content.find(({ role }) => role === "system")!
              if (prompt.content.some(({ role }) => role === "tool")) return ScriptedModel.text("done")
              return ScriptedModel.calls(
                (content === "main" ? calls : [within[content as string]!]).map((call) => ({ ...call, params: {} }))
              )
            }),
            layer
          ]),
          Effect.provideService(Journal.CurrentJournal, journal)
        ),
        { step: "1 second" }
      )
    }
    yield* live(0)
    const recorded = [...kept.keys()]
    const { events, exit } = yield* live(1)
    const told = (id: string, parent = "run_1") =>
      events.flatMap((event) =>
        event._tag === "ToolResult" && event.callId === id && event.agentRunId === parent ? [event.code ?? "ok"] : []
      )
    return { exit, recorded, told }
  })

describe("started work of one call is not attributed to another", () => {
  it.effect("a tool makes its calls again, and has their results", () =>
    Effect.gen(function*() {
      const calls = [{ id: "c1", name: "bundle" }]
      const { recorded, told } = yield* lives({
        calls,
        cut: { at: 4, behind: true },
        tools: () => [bundle("bundle", writing)]
      })
      assert.include(recorded.at(-1), "child run_1/4:book/c1/")
      assert.deepStrictEqual(told("c1"), ["ok"])
    }))

  it.effect("a tool whose replay diverges next to a missing tool", () =>
    Effect.gen(function*() {
      const { told } = yield* lives({
        calls: [{ id: "c1", name: "bundle" }, { id: "c2", name: "gone" }],
        cut: { at: 4, behind: false },
        tools: (life) => [
          bundle("bundle", life === 0 ? writing : () => Effect.void),
          ...life === 0 ? [agentOf("gone", bundle("bundle", () => Effect.never))] : []
        ],
        within: { gone: { id: "x", name: "bundle" } }
      })
      assert.deepStrictEqual([told("c1"), told("c2")], [["outcome_unknown"], ["tool_not_found"]])
    }))

  it.effect("calls of one answer", () =>
    Effect.gen(function*() {
      for (const id of ["c1", "book", "c"]) {
        const { exit, recorded, told } = yield* lives({
          calls: [{ id, name: "quick" }, { id: "c2", name: "bundle" }],
          cut: { at: 5, behind: false },
          late: "bundle",
          tools: (life) => [
            bundle("quick", () => life === 0 ? Effect.sleep("1 minute") : Effect.void),
            bundle("bundle", writing)
          ]
        })
        assert.include(recorded.at(-1), "write run_1/4:book/c2/")
        assert.isTrue(Exit.isSuccess(exit))
        assert.deepStrictEqual(told(id), ["ok"], id)
        assert.deepStrictEqual(told("c2"), ["outcome_unknown"], id)
      }
    }))

  it.effect("parallel agents whose calls have the same ids", () =>
    Effect.gen(function*() {
      const { recorded, told } = yield* lives({
        calls: [{ id: "c1", name: "first" }, { id: "c2", name: "other" }],
        within: { first: { id: "x", name: "quick" }, other: { id: "x", name: "bundle" } },
        cut: { at: 7, behind: false },
        late: "other",
        tools: (life) => [
          agentOf("first", bundle("quick", () => life === 0 ? Effect.sleep("1 minute") : Effect.void)),
          agentOf("other", bundle("bundle", writing))
        ]
      })
      assert.include(recorded.at(-1), "write run_1/2:c2/5:clerk#1/4:book/x/")
      assert.deepStrictEqual(told("x", "run_1/c1"), ["ok"])
      assert.deepStrictEqual(told("x", "run_1/c2"), ["outcome_unknown"])
    }))
})
