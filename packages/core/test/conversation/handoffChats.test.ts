/**
 * Chats behind a handoff: after an interruption at any operation, the model of the next turn reads the completed and
 * the compensated writes before the handoff.
 */
import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel, VirtualTime } from "@recourse/testing"
import { Agent, Approval, Conversation, Tool } from "@recourse/core"
import { Effect, Exit, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"
import { call, key, type Log, standard, text } from "../support/bookings.ts"
import { operationsBetween } from "../support/operations.ts"

type Chatting =
  & Agent.Agent<Prompt.Prompt, string, unknown, never>
  & Agent.Resumable<Prompt.Prompt, string, unknown, never, never>
type Around = (agent: Chatting) => Chatting

const chat = { owner: "ada", thread: "t1" }
const talks = { ...standard, input: Prompt.Prompt, prompt: (said: Prompt.Prompt) => said }

const write = (log: Log, name: string, more: object = {}) =>
  Tool.make(name, {
    effects: "write",
    success: Schema.String,
    execute: () => Effect.andThen(Effect.yieldNow, Effect.sync(() => (log.push(name), name))),
    compensate: () => Effect.andThen(Effect.yieldNow, Effect.sync(() => void log.push(`un${name}`))),
    ...more
  } as never)

const named = (name: string, tools: ReadonlyArray<unknown>, more: object) =>
  Agent.make(name, { ...talks, ...more, instructions: name, tools } as never) as never as Chatting

/** Notes, and gives the conversation to one that books, and waits before it pays. */
const handoff = (log: Log, undoes: object, around: Around) =>
  Agent.handoff("support", {
    start: "triage",
    agents: {
      triage: named("triage", [write(log, "note"), Agent.handoffTo("desk", { description: "Books" })], {}),
      desk: around(named("desk", [write(log, "book"), write(log, "pay", { needsApproval: true })], undoes))
    }
  } as never) as never as Chatting

const same: Around = (agent) => agent
const forms: Readonly<Record<string, (log: Log, around: Around) => Chatting>> = {
  "the agent that takes it undoes": (log, around) => handoff(log, { compensation: {} }, around),
  "all of it is undone": (log, around) => handoff(log, {}, around).pipe(Agent.compensated({}) as never) as never
}

const decides = {
  approved: (pending: Approval.PendingCall) => Approval.approve(pending),
  refused: (pending: Approval.PendingCall) => Approval.reject(pending, "no")
}
type Decides = (typeof decides)[keyof typeof decides]

const asking = (decide: Decides): Around => (agent) =>
  agent.pipe(
    Approval.interactive((pending) => Effect.andThen(Effect.yieldNow, Effect.succeed(decide(pending))))
  ) as never

const say = (agent: Chatting) => Conversation.send(agent, { ...chat, message: "Book it" })

/** Places of a question to a person. */
const places: Readonly<
  Record<
    string,
    (form: (around: Around) => Chatting, decide: Decides) => Effect.Effect<unknown, unknown, Conversation.Conversations>
  >
> = {
  "in the next turn": (form, decide) =>
    Effect.gen(function*() {
      const { exit } = yield* say(form(same))
      const reason = Exit.isFailure(exit) ? exit.cause.reasons.find(({ _tag }) => _tag === "Fail") : undefined
      const { pending } = (reason as unknown as { readonly error: Approval.ApprovalRequired }).error
      // Another process has read the thread.
      yield* Conversation.resume(form(same), { ...chat, decisions: pending.map(decide) })
    }),
  "within the agent that takes it": (form, decide) => say(form(asking(decide))),
  "around all": (form, decide) => say(asking(decide)(form(same)))
}

const models = ScriptedModel.layer(({ prompt }) => {
  const [first] = prompt.content
  const called = new Set(prompt.content.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((part) => part.type === "tool-call" ? [part.name] : [])
      : []
  ))
  const next = first?.role === "system" && first.content === "triage"
    ? called.has("note") ? "transfer_to_desk" : "note"
    : called.has("book")
    ? called.has("pay") ? undefined : "pay"
    : "book"
  // Their models number their calls alike.
  return next === undefined ? text("done") : call(next, {}, { id: next === "book" ? "note" : next })
})

/** The next turn's model's view of each tool. */
const known = Effect.map(
  Effect.scoped(Conversation.begin({ ...chat, message: "And?" })),
  ({ prompt }) => {
    assert.deepStrictEqual(Laws.problemsOfHistory(prompt), [])
    return new Map(
      prompt.content.flatMap((message) =>
        message.role !== "tool" ? [] : message.content.flatMap((part) =>
          part.type === "tool-result"
            ? [[part.name, part.isFailure ? (part.result as { readonly code: string }).code : part.result] as const]
            : []
        )
      )
    )
  }
)

const inChat = (store: Approval.ResumptionStore) =>
  Effect.provide(Layer.mergeAll(Conversation.layerMemory, models, key, Layer.succeed(Approval.Resumptions, store)))

/** A store of its own for each program, whose ids are the same. */
const remembers = (dies = 0): Approval.ResumptionStore => {
  const used = new Set<string>()
  let claims = 0
  return {
    release: (id) => Effect.sync(() => void used.delete(id)),
    claim: (id) =>
      Effect.suspend(() => ++claims === dies ? Effect.die("down") : Effect.succeed(!used.has(id) && !!used.add(id)))
  }
}

/** The known state of each write is its real state. */
const isKnown = (log: Log, told: ReadonlyMap<string, unknown>, about: string) => {
  for (const name of ["note", "book", "pay"]) {
    const done = log.filter((one) => one === name).length
    const undone = log.filter((one) => one === `un${name}`).length
    assert.isAtMost(done, 1, about)
    assert.isAtMost(undone, done, about)
    const result = told.get(name)
    const where = `${about}: ${log.join()}, ${name} is told as ${JSON.stringify(result)}`
    if (done > undone) assert.include([name, "outcome_unknown"], result, where)
    else assert.notStrictEqual(result, name, where)
  }
}

describe("a chat whose conversation was transferred", () => {
  for (const [form, agentOf] of Object.entries(forms)) {
    for (const [place, begin] of Object.entries(places)) {
      for (const [how, decide] of Object.entries(decides)) {
        it.effect(
          `knows the writes: ${form}, asked ${place}, ${how}, interrupted at any operation`,
          () =>
            Effect.gen(function*() {
              const cutOff = (interruptAt: number) =>
                Effect.gen(function*() {
                  const log: Log = []
                  const { operations } = yield* VirtualTime.run(
                    Effect.exit(begin((around) => agentOf(log, around), decide)),
                    { interruptAt }
                  )
                  isKnown(log, yield* known, `operation ${interruptAt}`)
                  return operations
                }).pipe(inChat(remembers()))
              const operations = yield* cutOff(Infinity)
              // The region in which it changes hands is looked at closely.
              const near = form.startsWith("the agent") ? operationsBetween(250, 420, 3) : []
              for (const at of [...near, ...operationsBetween(1, operations + 1, 29)]) yield* cutOff(at)
            }),
          60_000
        )
      }
    }

    it.effect(`knows the writes of an abandoned run: ${form}`, () =>
      Effect.gen(function*() {
        for (const dies of [1, 2, 3]) {
          const log: Log = []
          yield* Effect.gen(function*() {
            yield* say(asking(decides.approved)(agentOf(log, same)))
            isKnown(log, yield* known, `claim ${dies}`)
          }).pipe(inChat(remembers(dies)))
        }
      }))
  }
})
