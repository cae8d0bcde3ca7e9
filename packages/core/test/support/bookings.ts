/** Agents that book, and wait before they pay, and their emitted events. */
import { assert } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Data, type Duration, Effect, type Exit, Fiber, Layer, Redacted, Schema } from "effect"
import { Agent, type AgentEvent, Approval, Audit, Recovery, Tool } from "@recourse/core"
import { collect, collectLogs } from "./kit.ts"

export class Away extends Data.TaggedError("Away") {}

export const { call, calls, text } = ScriptedModel
export const standard = { defaults: { onError: Recovery.standard } } as const
export const key = Approval.layerKey(Redacted.make("k".repeat(32)))
export const described = { description: "Does it", parameters: Schema.Struct({}), success: Schema.String } as const
export const input = Schema.Struct({})

export type Log = Array<string>
export type Runs = Agent.Agent<unknown, unknown, unknown, never>
export type Waits = Runs & Agent.Resumable<unknown, unknown, unknown, never, never>

export const book = (log: Log, name = "book", more: object = {}) =>
  Tool.make(name, {
    success: Schema.String,
    effects: "write",
    execute: () => Effect.sync(() => (log.push(name), `${name} is done`)),
    compensate: (_: unknown, said: string) => Effect.sync(() => void log.push(`un${said.split(" ")[0]}`)),
    ...more
  })

export const pay = (log: Log) =>
  Tool.make("pay", {
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => void log.push("pay"))
  })

/** Books, and waits before it pays. */
export const waits = (log: Log, compensation: object | undefined, name = "a") =>
  Agent.make(name, {
    ...standard,
    instructions: name,
    input: Schema.Unknown,
    tools: [book(log), pay(log)],
    ...(compensation === undefined ? undefined : { compensation })
  })

/** Books and waits; any other agent answers with its turns. */
export const models = (
  turns: Readonly<Record<string, readonly [ScriptedModel.Turn, ...ReadonlyArray<ScriptedModel.Turn>]>> = {}
) =>
  ScriptedModel.layer((request, index) => {
    const [first] = request.prompt.content
    const name = first?.role === "system" ? first.content.split("\n")[0]! : ""
    return ScriptedModel.steps(
      turns[name] ?? [call("book", {}, { id: "b" }), call("pay", {}, { id: "p" }), text("paid")]
    )(request, index)
  })

export const later = <A, E>(effect: Effect.Effect<A, E>, name = "z", after: Duration.Input = "1 second") =>
  Agent.fromFunction(name, (_: unknown) => Effect.delay(effect, after))
export const fails = later(Effect.fail(new Away()))

/** Events and audit records of a run. */
export const watched = () => {
  const { events, layer } = collect()
  const audits: Array<string> = []
  const { layer: logs, messages } = collectLogs()
  return {
    events,
    audits,
    messages,
    layer: Layer.mergeAll(
      layer,
      logs,
      Audit.layer(({ callId, decision }) => Effect.sync(() => void audits.push(`${decision} ${callId}`)))
    ),
    compensations: () =>
      events.flatMap((event) =>
        event._tag === "ToolCompensated" ? [`${event.path.join("/")} ${event.callId} ${event.outcome}`] : []
      )
  }
}
export type Watched = ReturnType<typeof watched>

/** Every call has one result, every agent ends as often as it starts, and no event follows the end of the run. */
export const isWhole = ({ events }: Watched): void => {
  const ids = (tag: "ToolCallStarted" | "ToolResult") =>
    events.flatMap((event) => event._tag === tag ? [`${event.agentRunId} ${event.callId}`] : []).toSorted()
  assert.deepStrictEqual(ids("ToolResult"), ids("ToolCallStarted"))
  const agents = (tag: AgentEvent.AgentEvent["_tag"]) =>
    events.flatMap((event) => event._tag === tag ? [event.agentRunId] : []).toSorted()
  assert.deepStrictEqual(agents("AgentFinished"), agents("AgentStarted"))
  assert.deepStrictEqual(agents("RunFinished"), agents("RunStarted"))
  assert.strictEqual(events.at(-1)?._tag, "RunFinished")
}

/** A compensated agent does not end as a waiting one. */
export const isClosed = ({ events }: Watched): void => {
  const ended = new Map(
    events.flatMap((event) => event._tag === "AgentFinished" ? [[event.agentRunId, event.outcome]] : [])
  )
  const undone = events.flatMap((event) => event._tag === "ToolCompensated" ? [event.agentRunId] : [])
  for (const id of undone) assert.notStrictEqual(ended.get(id), "paused")
  // Compensations are emitted under the original run id.
  const begun = events.flatMap((event) => event._tag === "AgentStarted" && !event.resumed ? [event.agentRunId] : [])
  for (const id of undone) assert.include(begun, id)
}

export const undoneOnce = (log: Log, seen: Watched) => {
  assert.deepStrictEqual(log, ["book", "unbook"])
  assert.strictEqual(seen.compensations().length, 1)
  assert.include(seen.compensations()[0], " b undone")
  assert.deepStrictEqual(seen.audits.filter((line) => line.startsWith("compensated")).length, 1)
  isWhole(seen)
  isClosed(seen)
}

/** The exit after an interruption at one second. */
export const interrupted = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.flatMap(
    Effect.forkChild(effect, { startImmediately: true }),
    (fiber) => Effect.andThen(Effect.delay(Fiber.interrupt(fiber), "1 second"), Fiber.join(fiber))
  )

export const running = <A, E>(
  effect: Effect.Effect<A, E, never>,
  seen: Watched,
  turns: Parameters<typeof models>[0] = {}
) =>
  Drive.drive(
    Effect.exit(effect).pipe(Effect.provide(Layer.mergeAll(seen.layer, key, models(turns)))) as Effect.Effect<
      Exit.Exit<A, E>
    >,
    { step: "100 millis" }
  )

export const tool = (agent: unknown, name: string) =>
  (agent as Agent.Agent<unknown, string>).pipe(Agent.asTool(name, described)) as never as Tool.Tool<
    string,
    Schema.Top,
    Schema.Top,
    never,
    never
  >

export const Boom = Tool.make("boom", {
  effects: "read",
  execute: () => Effect.delay(Effect.fail("no" as const), "1 second")
})
export const Quick = Tool.make("quick", { effects: "read", execute: () => Effect.void })
export const Slow = Tool.make("slow", { effects: "read", execute: () => Effect.sleep("1 hour") })

export const both = (one: string, other: string) =>
  calls([{ name: one, params: {}, id: one }, { name: other, params: {}, id: other }])

export const asking = (
  agent: unknown,
  ask: (pending: Approval.PendingCall) => Effect.Effect<Approval.Decision, Away>
) => (agent as Waits).pipe(Approval.interactive(ask)) as never as Runs

export const byHand = (agent: unknown, name = "hand") =>
  Tool.make(name, {
    success: Schema.String,
    effects: "read",
    execute: () => Effect.orDie((agent as Agent.Agent<unknown, string>).run({}))
  })

export const boss = (tools: ReadonlyArray<unknown>, more: object = {}) =>
  Agent.make("boss", { ...standard, instructions: "boss", input, tools: tools as never, ...more } as never)
