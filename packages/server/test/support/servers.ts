/**
 * Servers over durable runs, in virtual time: their shared state outlives them, and each can be killed at each of its
 * operations.
 */
import { assert } from "@effect/vitest"
import { Agent, Approval, Conversation, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Logger, Redacted } from "effect"
import { Prompt } from "effect/ai"
import { Chats, type Message, type TestedChats } from "./chats.ts"

export const key = { owner: "ada", thread: "t1" }
export const message = (messageId: string, text: string): Message => ({
  agent: "clerk",
  ...key,
  messageId,
  message: text
})

/** Shared state of the servers: their stores, the executions, and the models' prompts. */
export const shared = () => ({
  stores: Effect.runSync(
    Effect.scoped(Layer.build(Layer.fresh(Layer.merge(RunStore.layerMemory, Conversation.layerMemory))))
  ),
  log: [] as Array<string>,
  read: [] as Array<Prompt.Prompt>
})
export type Shared = ReturnType<typeof shared>

const clerk = (log: Array<string>) => {
  const write = (name: string) => Effect.andThen(Effect.sync(() => void log.push(name)), Effect.sleep("20 millis"))
  const book = Tool.make("book", {
    effects: "write",
    execute: () => write("book"),
    compensate: () => Effect.sync(() => void log.push("unbook"))
  })
  const pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => write("pay") })
  return Agent.make("clerk", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [book, pay],
    defaults: { onError: Recovery.standard },
    compensation: {}
  })
}

const textOf = ({ content }: Prompt.Message): string =>
  typeof content === "string" ? content : content.map((part) => part.type === "text" ? part.text : "").join("")

/** Books, if the user asks for it, then pays, if asked for, and answers. */
const model = ({ read }: Shared) =>
  ScriptedModel.layer(({ prompt }) => {
    read.push(prompt)
    const last = prompt.content.findLastIndex(({ role }) => role === "user")
    const turn = prompt.content.slice(last).filter(({ role }) => role === "assistant").length
    const text = textOf(prompt.content[last]!)
    const writes = text.startsWith("pay") ? ["book", "pay"] : text.startsWith("book") ? ["book"] : []
    const turns = [
      ...writes.map((name) => ScriptedModel.call(name, {}, { id: `${name} ${text}` })),
      ScriptedModel.text(`done ${text}`)
    ]
    return ScriptedModel.delay("50 millis", turns[turn] ?? ScriptedModel.text("?"))
  })

export interface Served {
  readonly chats: TestedChats
  readonly runs: Runs.RunsService
  readonly conversations: Conversation.Conversations["Service"]
}

export type OnBusy = "refuse" | "queue" | "interrupt"

/** A server, for as long as it is used. */
export const server = <A, E>(
  all: Shared,
  use: (served: Served) => Effect.Effect<A, E>,
  onBusy: OnBusy = "refuse"
): Effect.Effect<A, E> => {
  const agent = Durable.make(clerk(all.log), { input: Prompt.Prompt })
  return Effect.gen(function*() {
    const conversations = yield* Conversation.Conversations
    const runs = yield* Runs.Runs
    const chats = new Chats(runs, conversations, yield* Effect.scope, { onBusy })
    return yield* use({ chats, runs, conversations })
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Durable.layer([agent], { grace: 1 }).pipe(
        Layer.provide([model(all), Approval.layerKey(Redacted.make("k".repeat(32)))]),
        Layer.provideMerge(Layer.succeedContext(all.stores))
      )
    ),
    Effect.provide(Logger.layer([]))
  )
}

/** A process: killed before an operation, if one is given. */
export const inTime = <A, E>(effect: Effect.Effect<A, E>, options: VirtualTime.Options = {}) =>
  VirtualTime.run(effect, options)

export const over = ["completed", "failed", "cancelled"]

export const until = (runs: Runs.RunsService, runId: string, statuses: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    for (;;) {
      const run = yield* runs.get(runId)
      if (statuses.includes(run.status)) return run
      yield* Effect.sleep("200 millis")
    }
  })

/** Until no run is active. */
export const settled = ({ runs }: Served) =>
  Effect.gen(function*() {
    for (;;) {
      const goesOn = (yield* runs.list({})).some(({ status }) => status === "running" || status === "queued")
      if (!goesOn) return yield* Effect.sleep("3 seconds")
      yield* Effect.sleep("200 millis")
    }
  })

/** The name of a failure, or `"ok"`. */
export const outcomeOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "ok"
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error as { readonly _tag?: string } | undefined
  return error?._tag ?? Cause.pretty(exit.cause)
}

/** Sends a message and waits until its run has ended, or waits. */
export const say = ({ chats, runs }: Served, id: string, text: string) =>
  Effect.gen(function*() {
    const exit = yield* Effect.exit(chats.send(message(id, text)))
    if (Exit.isSuccess(exit)) {
      yield* until(runs, exit.value.runId, [...over, "waiting"])
      yield* Effect.sleep("3 seconds")
    }
    return outcomeOf(exit)
  })

const resultOf = (result: unknown): string => {
  const text = JSON.stringify(result)
  return text.includes("undone") ? "undone" : text.includes("outcome_unknown") ? "unknown" : "ok"
}

/** A model's prompt: authors and texts, and outcomes of calls. */
export const linesOf = (prompt: Prompt.Prompt): ReadonlyArray<string> =>
  prompt.content.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) => part.type === "tool-result" ? [`${part.name} ${resultOf(part.result)}`] : [])
      : [`${message.role} ${textOf(message)}`.trim()]
  )

/** State of the thread: busy or not, and the next turn's model's prompt. */
export const threadOf = ({ conversations }: Served) =>
  Effect.map(Effect.exit(conversations.read(key)), (exit) => {
    if (Exit.isFailure(exit)) return []
    const { entries, thread } = exit.value
    return [thread.isRunning ? "busy" : "free", ...linesOf(Conversation.toPrompt(entries))]
  })

/** Completed calls are in a thread, once; compensated ones are not reported as done. */
export const laws = ({ log }: Shared, thread: ReadonlyArray<string>, about: string) => {
  const times = (all: ReadonlyArray<string>, what: string) => all.filter((one) => one === what).length
  const where = `${about}: ${log} | ${thread}`
  for (const name of ["book", "pay"]) {
    const done = times(log, name)
    const undone = times(log, `un${name}`)
    const told = thread.filter((one) => one.startsWith(`${name} `)).length
    assert.isAtMost(undone, done, where)
    assert.isAtLeast(told, done, where)
    assert.isAtMost(times(thread, `${name} ok`), done - undone, where)
  }
  const users = thread.filter((one) => one.startsWith("user"))
  assert.strictEqual(new Set(users).size, users.length, where)
  assert.include(["free", undefined], thread[0], where)
}
