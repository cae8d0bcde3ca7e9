/** Writes of a turn: stored in its thread as they start and end, and read by the next turn if this one does not end. */
import * as Effect from "effect/Effect"
import type * as Prompt from "effect/ai/Prompt"
import { hashOf } from "../foundation/digest.ts"
import {
  type LoggedWrite,
  type StartedWrite,
  type WriteLog,
  WriteNotStored,
  type WriteOutcome
} from "../run/writes/writeLog.ts"
import type { Conversations, ThreadKey } from "./conversationService.ts"
import type { Event } from "./thread.ts"
import { encodeMessages } from "./threadView.ts"

const messageJson = (message: Prompt.Message) => encodeMessages([message])[0]!

const callKey = ({ callId, runId }: Pick<LoggedWrite, "runId" | "callId">): string => JSON.stringify([runId, callId])

/** The write log of a turn. */
export class TurnWrites implements WriteLog {
  /** The runs whose writes are in the thread. */
  readonly runs = new Set<string>()
  private readonly started = new Set<string>()
  private readonly store: Conversations["Service"]
  private readonly key: ThreadKey
  private readonly claim: string

  constructor(store: Conversations["Service"], key: ThreadKey, claim: string) {
    this.store = store
    this.key = key
    this.claim = claim
  }

  readonly start = (write: StartedWrite): Effect.Effect<void> =>
    Effect.flatMap(hashOf(write.arguments), (argumentsHash) => {
      const key = callKey(write)
      const { callId, path, runId, tool } = write
      const message = this.started.has(key) ? undefined : { message: messageJson(write.message()) }
      const event: Event = {
        _tag: "WriteStarted",
        version: 1,
        callId,
        write: write.write,
        tool,
        path,
        argumentsHash,
        ...message
      }
      // A turn that has lost its thread starts no write: the next one may do the same.
      return this.store.append({ ...this.key, events: [event], runId, requiredClaim: this.claim }).pipe(
        Effect.matchEffect({
          onFailure: (error) => Effect.die(new WriteNotStored(error)),
          onSuccess: () =>
            Effect.sync(() => {
              this.started.add(key)
              this.runs.add(runId)
            })
        })
      )
    })

  readonly end = ({ callId, runId, write }: LoggedWrite, outcome: WriteOutcome): Effect.Effect<void> =>
    this.append(runId, { _tag: "WriteEnded", version: 1, callId, write, outcome })

  readonly answer: WriteLog["answer"] = (call, outcome, result) =>
    Effect.suspend(() =>
      this.started.has(callKey(call))
        ? this.append(call.runId, {
          _tag: "WriteEnded",
          version: 1,
          callId: call.callId,
          outcome,
          result: messageJson(result())
        })
        : Effect.void
    )

  private append(runId: string, event: Event): Effect.Effect<void> {
    return Effect.catchCause(
      Effect.asVoid(this.store.append({ ...this.key, events: [event], runId })),
      // The end of the turn stores it once more.
      (cause) => Effect.logWarning("The end of a write could not be stored in its thread", cause)
    )
  }
}
