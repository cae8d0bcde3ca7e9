/**
 * An attempt of a call that runs an agent is interrupted, in a run with a journal, and another attempt follows: the
 * first one is compensated before.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { type Duration, Effect, Exit, Fiber, Layer, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Agent, Journal, Recovery, Tool } from "@recourse/core"
import { journalOf } from "../support/interruptedRuns.ts"

const { call, calls, text } = ScriptedModel

const Takes = Schema.Struct({ room: Schema.String })

/** An agent that books, and then takes longer than it has. */
const booker = (log: Array<string>) => {
  const Book = Tool.make("book", {
    parameters: Takes,
    success: Schema.String,
    effects: "write",
    execute: ({ room }) => Effect.sync(() => (log.push(`book ${room}`), room)),
    compensate: ({ room }) => Effect.sync(() => void log.push(`unbook ${room}`))
  })
  const Slow = Tool.make("slow", { success: Schema.String, effects: "read", execute: () => Effect.never })
  return Agent.make("booker", {
    instructions: "booker",
    input: Takes,
    prompt: ({ room }) => room,
    tools: [Book, Slow],
    defaults: { onError: Recovery.standard },
    compensation: {}
  })
}

const model = ScriptedModel.layer(({ prompt }) => {
  const [first] = prompt.content
  const isBooker = first?.role === "system" && first.content.startsWith("booker")
  const answers = prompt.content.filter(({ role }) => role === "assistant").length
  if (isBooker) {
    const user = JSON.stringify(prompt.content.find(({ role }) => role === "user")?.content)
    return answers === 0 ? call("book", { room: /"text":"(\w+)"/.exec(user)![1] }) : call("slow", {})
  }
  return answers > 0 ? text("done") : calls([
    { name: "trip", params: { room: "a" }, id: "a" },
    { name: "stay", params: { room: "b" }, id: "b" }
  ])
})

describe("an attempt of a call that runs an agent, and that is cut off", () => {
  it.effect("is compensated before the next one starts; another call's agent continues", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const tool = (name: string, timeout: Duration.Input, times: number) =>
        booker(log).pipe(
          Agent.asTool(name, {
            description: "Books",
            parameters: Takes,
            success: Schema.String,
            effects: "idempotent"
          }),
          Tool.onError((attempt) => Effect.retry(Effect.timeout(attempt, timeout), { times }))
        )
      const agent = Agent.make("boss", {
        tools: [tool("trip", "3 seconds", 1), tool("stay", "10 seconds", 0)],
        defaults: { onError: Recovery.keepGoing }
      })
      const { journal } = journalOf().life()
      const run = agent.run("go", { runId: "run_1" }).pipe(
        Effect.provide(Layer.succeed(Journal.CurrentJournal, journal)),
        Effect.provide(model)
      )
      const fiber = yield* Effect.forkChild(run)
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(log, ["book a", "book b", "unbook a", "book a"])
      yield* TestClock.adjust("3 seconds")
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(log.slice(4).toSorted(), ["unbook a", "unbook b"])
    }))

  /** The agent itself, or one whose tool it is. */
  const forms: Readonly<Record<string, (agent: ReturnType<typeof booker>) => unknown>> = {
    "the agent": (agent) => agent,
    "an agent within it": (agent) =>
      Agent.make("middle", {
        instructions: "middle",
        input: Takes,
        prompt: ({ room }: typeof Takes.Type) => room,
        tools: [
          agent.pipe(Agent.asTool("within", {
            description: "Books",
            parameters: Takes,
            success: Schema.String,
            effects: "idempotent"
          }))
        ],
        defaults: { onError: Recovery.standard }
      } as never)
  }
  for (const [name, form] of Object.entries(forms)) {
    it.effect(`is compensated before the next attempt of its own call only: ${name}`, () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const tool = (name: string, timeout: Duration.Input, wait: Duration.Input) =>
          (form(booker(log)) as ReturnType<typeof booker>).pipe(
            Agent.asTool(name, {
              description: "Books",
              parameters: Takes,
              success: Schema.String,
              effects: "idempotent"
            }),
            Tool.onError((attempt) =>
              Effect.retry(Effect.timeout(attempt, timeout), { schedule: Schedule.spaced(wait), times: 1 })
            )
          )
        const agent = Agent.make("boss", {
          // The attempt for b is over first, and its next one comes last.
          tools: [tool("trip", "3 seconds", "1 second"), tool("stay", "2 seconds", "4 seconds")],
          defaults: { onError: Recovery.keepGoing }
        })
        const model = ScriptedModel.layer(({ prompt }) => {
          const [first] = prompt.content
          const who = first?.role === "system" ? first.content.split("\n")[0]! : ""
          const answers = prompt.content.filter(({ role }) => role === "assistant").length
          const room = /"text":"(\w+)"/.exec(JSON.stringify(prompt.content.find(({ role }) => role === "user")))?.[1]
          if (who === "middle") return call("within", { room })
          if (who === "booker") return answers === 0 ? call("book", { room }) : call("slow", {})
          return answers > 0 ? text("done") : calls([
            { name: "trip", params: { room: "a" }, id: "a" },
            { name: "stay", params: { room: "b" }, id: "b" }
          ])
        })
        yield* Drive.drive(
          Effect.exit(agent.run("go", { runId: "run_1" })).pipe(
            Effect.provideService(Journal.CurrentJournal, journalOf().life().journal),
            Effect.provide(model)
          ),
          { step: "1 second" }
        )
        assert.deepStrictEqual(log, [
          "book a",
          "book b",
          "unbook a",
          "book a",
          "unbook b",
          "book b",
          "unbook a",
          "unbook b"
        ])
      }))
  }
})
