/** Chats of drawn programs: messages and decisions, in turn and at once, some of them too late. */
import { Clock, Effect, Exit } from "effect"
import type { Prompt } from "effect/ai"
import { Agent, Approval, Conversation, type RunRecord } from "@recourse/core"
import { Approver, type Pause } from "../faults/approver.ts"
import { question } from "./planted.ts"
import type { Composed } from "./forms.ts"
import type { ChatStep, Program } from "./program.ts"

/** A message to a chat, or a decision about a question of it, and the outcome. */
export interface Turn {
  readonly says: "message" | "decision"
  /** True if a run waited in the thread before it; absent if another event is simultaneous. */
  readonly waiting: boolean | undefined
  readonly exit: Exit.Exit<unknown, unknown>
  readonly record: RunRecord.RunRecord | undefined
  /** Range of its events and requests. */
  readonly events: readonly [from: number, to: number]
  readonly requests: readonly [from: number, to: number]
}

/** Context of a played chat. */
export interface Playing {
  readonly program: Program
  readonly agent: Composed
  readonly streaming: boolean
  readonly events: () => number
  readonly requests: () => number
  readonly onPause: (pause: Pause) => void
}

/** A question of a chat. */
type Question = Pick<Pause, "snapshot" | "pending">

const key = { owner: "ada", thread: "t" } as const

const snapshotOf = (exit: Exit.Exit<unknown, unknown>): Approval.Snapshot | undefined => {
  if (Exit.isSuccess(exit)) return exit.value instanceof Approval.Paused ? exit.value.snapshot : undefined
  const error = exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
  return error instanceof Approval.ApprovalRequired ? error.snapshot : undefined
}

/** End of a run, the same for one that started and one that resumed. */
const endOf = (exit: Exit.Exit<unknown, unknown>, agent: string): Exit.Exit<unknown, unknown> => {
  if (Exit.isFailure(exit)) return exit
  if (exit.value instanceof Approval.Paused) {
    return Exit.fail(new Approval.ApprovalRequired({ agent, snapshot: exit.value.snapshot }))
  }
  return exit.value instanceof Approval.Completed ? Exit.succeed(exit.value.output) : exit
}

/** Content of a turn: a message, or decisions. */
type Says = { readonly message: string } | { readonly decisions: ReadonlyArray<Approval.Decision> }

type Said = Effect.Effect<
  { readonly exit: Exit.Exit<unknown, unknown> },
  unknown,
  Conversation.Conversations | Approval.SnapshotKey
>

/** A turn that ends as one does whose run is streamed: by hand. */
const byHand = Effect.fnUntraced(
  function*(agent: Composed, says: Says) {
    const turn = yield* Conversation.begin({ ...key, ...("message" in says ? says : undefined) })
    let ended: (() => RunRecord.RunRecord) | undefined
    const mode = {
      streaming: true,
      onRecord: (record: () => RunRecord.RunRecord) => {
        ended = record
      }
    }
    const run: Effect.Effect<unknown, unknown, any> = "message" in says
      ? agent.runIn(turn.prompt, mode)
      : turn.snapshot === undefined || !Agent.isResumable(agent)
      ? Effect.fail(new Approval.SnapshotRefused({ agent: agent.name, reason: "used" }))
      : agent.proceed({ snapshot: turn.snapshot, decisions: says.decisions }, { ...mode, mayPause: true })
    const exit = yield* Effect.exit(Effect.onExit(turn.recorded(run), (exit) => {
      if (ended === undefined) return Effect.void
      const { compacted, replacedInput, runId, transcript } = ended()
      return Effect.orDie(turn.end({ transcript, runId, compacted, replacedInput, snapshot: snapshotOf(exit) }))
    }))
    return { exit }
  },
  Effect.scoped
)

/** Callbacks of a run. */
interface Callbacks {
  readonly onRecord: (record: RunRecord.RunRecord) => void
  readonly onEnd: (exit: Exit.Exit<unknown, unknown>) => void
}

/** The agent with callbacks: its record, and its end, are known also if the sender is interrupted. */
const heard = (agent: Composed, { onEnd, onRecord }: Callbacks): Composed => {
  const ending = <A, E, R>(run: Effect.Effect<A, E, R>) => Effect.onExit(run, (exit) => Effect.sync(() => onEnd(exit)))
  const hearing = <Mode extends Parameters<Composed["runIn"]>[1]>(mode: Mode): Mode => ({
    ...mode,
    onRecord: (record: () => RunRecord.RunRecord) => {
      onRecord(record())
      mode.onRecord?.(record)
    }
  })
  const { runIn } = agent
  return Object.assign(Object.create(agent) as object, agent, {
    runIn: (input: unknown, mode: Parameters<Composed["runIn"]>[1]) => ending(runIn(input, hearing(mode))),
    ...(Agent.isResumable(agent)
      ? { proceed: (from: never, mode: never) => ending(agent.proceed(from, hearing(mode as never))) }
      : undefined)
  }) as Composed
}

/** Plays one chat; outcomes of its steps are reported at their ends. */
export class Chat {
  private readonly playing: Playing
  private readonly questions: Array<Question> = []
  private messages = 0

  constructor(playing: Playing) {
    this.playing = playing
  }

  /** One step: its turns, in the order in which they end. */
  step(step: ChatStep, onTurn: (turn: Turn) => void): Effect.Effect<void, never, never> {
    const { questions } = this
    const last = questions.at(-1)
    const at = (says: ReadonlyArray<Effect.Effect<void, never, any>>) =>
      Effect.asVoid(Effect.all(says, { concurrency: "unbounded" })) as Effect.Effect<void>
    switch (step) {
      case "say":
        return at([this.say(true, onTurn)])
      case "two":
        return at([this.say(false, onTurn), this.say(false, onTurn)])
      case "decide":
        return at([this.decide(last, true, onTurn)])
      case "decideFirst":
        return at([this.decide(questions[0], true, onTurn)])
      case "both":
        return at([this.decide(last, false, onTurn), this.say(false, onTurn)])
    }
  }

  /** The model's prompt in another turn: a message is sent, and withdraws waiting calls. */
  get left(): Effect.Effect<Prompt.Prompt, Conversation.BeginError, Conversation.Conversations> {
    return Effect.scoped(Effect.map(Conversation.begin({ ...key, message: "Well?" }), ({ prompt }) => prompt))
  }

  private say(alone: boolean, onTurn: (turn: Turn) => void) {
    const { turns } = this.playing.program
    const message = question((turns.length + 1) * this.messages++)
    return this.turn({ message }, alone, onTurn)
  }

  private decide(asked: Question | undefined, alone: boolean, onTurn: (turn: Turn) => void) {
    return Effect.gen({ self: this }, function*() {
      // Without a way to resume, no person is asked.
      if (!Agent.isResumable(this.playing.agent)) return
      const { decide } = yield* Approver
      const start = yield* Clock.currentTimeMillis
      const decisions = asked === undefined ? [] : yield* decide(asked.pending)
      const decidedAt = yield* Clock.currentTimeMillis
      if (asked !== undefined) {
        // A call that waited for too long is asked about again, by the same id.
        const now = this.questions.at(-1)!
        const pending = asked.pending.map((call) => now.pending.find(({ callId }) => callId === call.callId) ?? call)
        this.playing.onPause({ ...asked, pending, decisions, waited: decidedAt - start, decidedAt })
      }
      yield* this.turn({ decisions }, alone, onTurn)
    })
  }

  private turn(says: Says, alone: boolean, onTurn: (turn: Turn) => void) {
    const { agent, events, requests, streaming } = this.playing
    return Effect.gen({ self: this }, function*() {
      const waiting = alone ? yield* isWaiting : undefined
      let record: RunRecord.RunRecord | undefined
      const hearing = heard(agent, {
        onRecord: (ended) => {
          record = ended
        },
        onEnd: (exit) => {
          const snapshot = snapshotOf(exit)
          if (snapshot !== undefined) this.questions.push({ snapshot, pending: snapshot.round?.pending ?? [] })
        }
      })
      const from = [events(), requests()] as const
      const said: Said = streaming
        ? byHand(hearing, says)
        : "message" in says
        ? Conversation.send(hearing as never, { ...key, ...says })
        : Conversation.resume(hearing as never, { ...key, ...says })
      yield* Effect.exit(Effect.onExit(said, (ended) => {
        const exit = Exit.isSuccess(ended) ? endOf(ended.value.exit, agent.name) : ended
        return Effect.sync(() =>
          onTurn({
            says: "message" in says ? "message" : "decision",
            waiting,
            exit,
            record,
            // If no run has started, events in between belong to another one.
            events: [from[0], record === undefined ? from[0] : events()],
            requests: [from[1], record === undefined ? from[1] : requests()]
          })
        )
      }))
    })
  }
}

const isWaiting = Effect.gen(function*() {
  const store = yield* Conversation.Conversations
  const { threads } = yield* store.list({ owner: key.owner })
  return threads.some(({ isWaiting }) => isWaiting)
}).pipe(Effect.orDie)
