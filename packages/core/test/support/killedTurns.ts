/** Killed turns: a turn of a chat whose process dies at each step, and the next turn. */
import { assert } from "@effect/vitest"
import { Laws, ScriptedModel } from "@recourse/testing"
import { Agent, Audit, Conversation, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { Effect, Exit, Logger, Schema } from "effect"
import { Prompt } from "effect/ai"

type Store = Conversation.Conversations["Service"]

/** A process that dies at one of its steps: none of its later steps has an effect. */
export class Mortal {
  steps = 0
  isDead = false
  private readonly diesAt: number

  constructor(diesAt: number) {
    this.diesAt = diesAt
  }

  /** Two points at which it can die: before the step, and behind it. */
  step<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.andThen(this.point, Effect.tap(effect, () => this.point))
  }

  private readonly point = Effect.suspend(() => {
    if (this.steps++ >= this.diesAt) this.isDead = true
    return this.isDead ? Effect.die("killed") : Effect.void
  })

  store(store: Store): Store {
    return {
      create: (options) => this.step(store.create(options)),
      read: (options) => this.step(store.read(options)),
      list: (options) => this.step(store.list(options)),
      rename: (options) => this.step(store.rename(options)),
      delete: (key) => this.step(store.delete(key)),
      append: (options) => this.step(store.append(options)),
      purge: (age) => this.step(store.purge(age)),
      renew: (key, claim) => this.step(store.renew(key, claim))
    }
  }
}

const options = {
  input: Prompt.Prompt,
  prompt: (conversation: Prompt.Prompt) => conversation,
  defaults: { onError: Recovery.standard }
} as const

const payOf = (name: string, mortal: Mortal, paid: Array<string>) =>
  Tool.make(name, {
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.String,
    effects: "write",
    idempotency: true,
    execute: ({ order }) => mortal.step(Effect.sync(() => (paid.push(order), `paid ${order}`)))
  })

const parameters = Schema.Struct({ order: Schema.String })

/** Agents that pay, each in its own way: the model calls `settle`. */
export const agents = {
  "a tool": (mortal: Mortal, paid: Array<string>) =>
    Agent.make("clerk", { ...options, tools: [payOf("settle", mortal, paid)] }),
  "a tool that calls a tool": (mortal: Mortal, paid: Array<string>) => {
    const pay = payOf("pay", mortal, paid)
    const settle = Tool.make("settle", {
      parameters,
      success: Schema.String,
      effects: "read",
      execute: (args) =>
        Effect.provideService(Effect.orDie(pay.call), ToolCall.ToolCall, ToolCall.make({ id: "p", arguments: args }))
    })
    return Agent.make("clerk", { ...options, tools: [settle] })
  },
  "an agent that is a tool": (mortal: Mortal, paid: Array<string>) => {
    const pay = payOf("pay", mortal, paid)
    const settle = Agent.fromFunction(
      "cashier",
      (args: { readonly order: string }) =>
        Effect.provideService(Effect.orDie(pay.call), ToolCall.ToolCall, ToolCall.make({ id: "p", arguments: args }))
    ).pipe(Agent.asTool("settle", { description: "Settles an order", parameters, success: Schema.String }))
    return Agent.make("clerk", { ...options, tools: [settle], onToolError: { settle: Recovery.standard } } as never)
  }
}

const chat = { owner: "ada", thread: "t1", lease: "2 seconds" } as const

interface Result {
  readonly isFailure: boolean
  readonly code: unknown
}

/** The results that a conversation has of `settle`. */
const resultsIn = (prompt: Prompt.Prompt): ReadonlyArray<Result> =>
  prompt.content.flatMap((message) =>
    message.role !== "tool" ?
      [] :
      message.content.flatMap((part) =>
        part.type === "tool-result" && part.name === "settle"
          ? [{ isFailure: part.isFailure, code: (part.result as { readonly code?: unknown } | null)?.code }]
          : []
      )
  )

/** A model that settles once: it calls the tool unless the conversation has a result of it. */
const model = ScriptedModel.layer(({ prompt }) =>
  resultsIn(prompt).length === 0 ? ScriptedModel.call("settle", { order: "7" }) : ScriptedModel.text("Known.")
)

/** A turn whose process dies at a step, and two further turns on the same store. Returns whether the process died. */
export const killedTurn = Effect.fnUntraced(function*(
  agentOf: (mortal: Mortal, paid: Array<string>) => Agent.Agent<Prompt.Prompt, string, unknown, unknown>,
  diesAt: number,
  /** Waits until the lease of the dead process is over. */
  leaseOver: Effect.Effect<void>
) {
  const paid: Array<string> = []
  const audits: Array<Audit.AuditRecord> = []
  const store = yield* Conversation.Conversations
  const turn = (mortal: Mortal, message: string) =>
    Conversation.send(agentOf(mortal, paid) as Agent.Agent<Prompt.Prompt, string, unknown, never>, { ...chat, message })
      .pipe(
        Effect.provideService(Conversation.Conversations, mortal.store(store)),
        Effect.provide([
          model,
          // A dead process logs no line.
          Logger.layer([]),
          IdempotencyLedger.layerMemory,
          Audit.layer((record) => Effect.sync(() => mortal.isDead || audits.push(record)))
        ])
      )
  const dying = new Mortal(diesAt)
  yield* Effect.exit(turn(dying, "Settle 7"))
  const { entries: left } = yield* Effect.orElseSucceed(store.read(chat), () => ({ entries: [] }))
  const hasStarted = left.some(({ event }) => event._tag === "WriteStarted")
  const hasResult = resultsIn(Conversation.toPrompt(left)).some(({ isFailure }) => !isFailure)
  const paidBefore = paid.length
  // The executor does not run before the thread has the start.
  if (paidBefore > 0) assert.isTrue(hasStarted)
  yield* leaseOver
  const request = yield* turn(new Mortal(Infinity), "Is it settled?")
  const first = request.turn.prompt
  assert.isTrue(Exit.isSuccess(request.exit))
  assert.deepStrictEqual(Laws.problemsOfHistory(first), [])
  assert.deepStrictEqual(
    resultsIn(first),
    !hasStarted
      ? []
      : hasResult
      ? [{ isFailure: false, code: undefined }]
      : [{ isFailure: true, code: "outcome_unknown" }]
  )
  // A write that may have happened is not repeated; one that has not started is.
  assert.strictEqual(paid.length, hasStarted ? paidBefore : 1)
  const third = yield* turn(new Mortal(Infinity), "And now?")
  assert.strictEqual(resultsIn(third.turn.prompt).length, 1)
  assert.deepStrictEqual(Laws.problemsOfHistory(third.turn.prompt), [])
  assert.deepStrictEqual(
    audits.map(({ callId, decision, tool }) => ({ callId, decision, tool })),
    hasStarted && !hasResult && !hasEnded(left)
      ? [{ callId: audits[0]?.callId ?? "", decision: "outcome_unknown", tool: audits[0]?.tool ?? "" }]
      : []
  )
  const { entries } = yield* store.read(chat)
  const page = Prompt.fromMessages(Conversation.visibleMessages(entries).map(({ message }) => message))
  assert.strictEqual(resultsIn(page).length, 1)
  yield* store.delete(chat)
  return dying.isDead
})

/** True if the thread knows the end of each write. */
const hasEnded = (entries: ReadonlyArray<Conversation.Entry>): boolean =>
  entries.some(({ event }) => event._tag === "WriteEnded")
