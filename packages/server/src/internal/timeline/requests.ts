/** Requests to the model: the additions of each to the previous one of the same agent. */
import type { Event, Message, Request } from "./types.ts"

/** The requests of a run. */
export class Requests {
  readonly list: Array<Request> = []
  private readonly before = new Map<Request, Request>()
  private readonly last = new Map<string, Request>()

  receive(event: Event, number: number): void {
    if (event._tag !== "ModelRequested") return
    const { agentRunId, at, kept, messages, path, toolChoice, tools, turn } = event
    const request: Request = {
      number,
      at,
      agentRunId,
      agent: path.at(-1) ?? "",
      turn,
      unchanged: kept,
      added: messages.content,
      tools,
      toolChoice
    }
    const before = this.last.get(agentRunId)
    if (before !== undefined) this.before.set(request, before)
    this.last.set(agentRunId, request)
    this.list.push(request)
  }

  messages(request: Request): ReadonlyArray<Message> {
    const chain: Array<Request> = []
    for (
      let at: Request | undefined = request;
      at !== undefined;
      at = at.unchanged === 0 ? undefined : this.before.get(at)
    ) {
      chain.push(at)
    }
    let messages: Array<Message> = []
    for (const { added, unchanged } of chain.toReversed()) messages = [...messages.slice(0, unchanged), ...added]
    return messages
  }
}
