/** Messages of conversations in the memory store. */
import { type Conversation, conversationOf, messagesOf, textsIn } from "../store/conversation.ts"
import { orphanOf, referencedParts } from "../store/referencedMessages.ts"
import type { MessagePart, StartedRun, Step } from "../store/store.ts"

/** The parts of all conversations. */
export class MemoryMessages {
  private readonly byRun = new Map<string, Array<MessagePart>>()
  private readonly byId = new Map<string, Set<MessagePart>>()

  add(part: MessagePart): void {
    const own = this.byRun.get(part.runId) ?? []
    if (own.some((one) => one.part === part.part)) return
    this.byRun.set(part.runId, [...own, part])
    this.byId.set(part.id, (this.byId.get(part.id) ?? new Set()).add(part))
  }

  /** Adds the messages of an input behind the longest conversation that is stored. */
  addInput(runId: string, { ids, messages }: NonNullable<StartedRun["conversation"]>): void {
    const known = ids.findLastIndex((id, n) => n < ids.length - 1 && this.byId.has(id))
    const size = known + 1
    this.add({
      runId,
      part: 0,
      id: ids.at(-1)!,
      parent: ids[known],
      size: messages.length,
      messages: messages.slice(size)
    })
  }

  /** The parts that make the conversation of a run. */
  of(runId: string): ReadonlyArray<MessagePart> {
    const parts: Array<MessagePart> = []
    let next = this.byRun.get(runId)?.at(-1)
    while (next !== undefined) {
      parts.unshift(next)
      const same: ReadonlyArray<MessagePart> = next.parent === undefined ? [] : [...this.byId.get(next.parent) ?? []]
      next = same.find((part) => part.runId === runId) ?? same[0]
    }
    return parts
  }

  /** The conversation of a run. */
  conversationOf(runId: string, stepsOf: (runId: string) => ReadonlyArray<Step>): Conversation {
    const parts = this.of(runId)
    return conversationOf(runId, parts, parts.flatMap((part) => stepsOf(part.runId)))
  }

  /** Deletes the parts of runs, except those that parts of other runs continue. */
  delete(runIds: ReadonlyArray<string>, stepsOf: (runId: string) => ReadonlyArray<Step>): void {
    const deleted = runIds.flatMap((runId) => this.byRun.get(runId) ?? [])
    for (const part of deleted) this.remove(part)
    const left = [...this.byRun.values()].flat()
    const wanted = new Set(left.flatMap(({ parent }) => parent === undefined ? [] : [parent]))
    const referenced = referencedParts(deleted, wanted, new Set(this.byId.keys()))
    for (const part of referenced) {
      const messages = messagesOf(part, textsIn(stepsOf(part.runId)))
      this.add({ ...part, runId: orphanOf(part.id), part: 0, messages })
    }
    for (const { parent } of deleted) this.removeOrphans(parent)
  }

  private remove(part: MessagePart): void {
    this.byRun.delete(part.runId)
    const same = this.byId.get(part.id)
    same?.delete(part)
    if (same?.size === 0) this.byId.delete(part.id)
  }

  /** Removes parts of deleted runs that no other part continues. */
  private removeOrphans(id: string | undefined): void {
    for (let next = id; next !== undefined;) {
      const [orphan] = this.byRun.get(orphanOf(next)) ?? []
      if (orphan === undefined) return
      const isWanted = [...this.byRun.values()].some((parts) => parts.some(({ parent }) => parent === orphan.id))
      if (isWanted) return
      this.remove(orphan)
      next = orphan.parent
    }
  }
}
