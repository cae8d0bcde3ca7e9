/** Inbox of a run in this process: each message waits until the run takes it, or until the run ends or waits. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Message, RunInbox } from "@recourse/core/RunInbox"
import type { UserMessage } from "@recourse/core/Runs"

interface Waiting {
  readonly message: Message
  /** Completed with `true` when the message joins, and `false` when it cannot join any more. */
  readonly hasJoined: Deferred.Deferred<boolean>
}

/** The inbox of one run. */
export class MemoryInbox implements RunInbox {
  readonly runId: string
  private waiting: Array<Waiting> = []
  private readonly joined = new Set<string>()
  private positions = 0

  constructor(runId: string) {
    this.runId = runId
  }

  readonly take = (): Effect.Effect<ReadonlyArray<Message>> =>
    Effect.sync(() => {
      const taken = this.waiting
      this.waiting = []
      for (const { hasJoined, message } of taken) {
        this.joined.add(message.id)
        Deferred.doneUnsafe(hasJoined, Effect.succeed(true))
      }
      return taken.map(({ message }) => message)
    })

  /** True if a message has joined the run. */
  hasJoined(id: string): boolean {
    return this.joined.has(id)
  }

  /** Offers a message. Returns whether it has joined the run; an interruption withdraws it. */
  offer({ content, id }: UserMessage): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      if (this.joined.has(id)) return Effect.succeed(true)
      const known = this.waiting.find(({ message }) => message.id === id)
      if (known !== undefined) return Deferred.await(known.hasJoined)
      const added: Waiting = {
        message: { id, position: ++this.positions, content: content as Message["content"] },
        hasJoined: Deferred.makeUnsafe<boolean>()
      }
      this.waiting.push(added)
      return Effect.onInterrupt(Deferred.await(added.hasJoined), () => Effect.sync(() => this.withdraw(added)))
    })
  }

  private withdraw(added: Waiting): void {
    this.waiting = this.waiting.filter((one) => one !== added)
    Deferred.doneUnsafe(added.hasJoined, Effect.succeed(false))
  }

  /** The run ends or waits: no message joins it now. */
  close(): void {
    for (const one of this.waiting) this.withdraw(one)
  }
}
