/**
 * A conversation in the server's state. The page trusts the server: after a reload, a lost connection, or a change in
 * another tab it loads the thread and follows the running run.
 */
import { Chat } from "@ai-sdk/react"
import {
  type FileUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls
} from "ai"
import {
  afterFailedLoad,
  decisionProblem,
  initial,
  isNetworkError,
  problemOf,
  type State,
  waitBefore
} from "./conversationState.ts"
import { followThread, stateOf } from "./followThread.ts"
import { keepDraft } from "./drafts.ts"
import { newId } from "./ids.ts"
import type { Answered } from "./QuestionForm.tsx"
import { Outbox } from "./outbox.ts"
import { type ChatMessage, formsOf, questionsOf } from "./parts.ts"
import { followPresence } from "./presence.ts"
import { troubleSentence } from "./sentences.ts"
import * as server from "./server.ts"
import { Offers } from "./joining.ts"
import { MessageQueue, type QueuedMessage } from "./queue.ts"
import { seen } from "./seenThreads.ts"
import { NoStream } from "./streams.ts"
import { hear, tell } from "./tabs.ts"
import { ConversationTransport } from "./transport.ts"
export type { Problem } from "./conversationState.ts"

/** Yes, no, or yes with other arguments. */
export type Decision =
  | { readonly approved: true; readonly edited?: Readonly<Record<string, unknown>> }
  | { readonly approved: false; readonly reason: string }

/** The agent that answers, and whether a message can join its work. */
interface Context {
  readonly agent: string
  readonly mayJoin: boolean
  readonly onChanged: () => void
}

type Timer = ReturnType<typeof setTimeout>

const messageOf = ({ files, id, text }: Pick<QueuedMessage, "files" | "id" | "text">): ChatMessage => ({
  id,
  role: "user",
  parts: [...files, ...(text === "" ? [] : [{ type: "text" as const, text }])]
})

/** Poll interval of a tab without a stream. */
const pollEvery = 1500

/** A conversation of the page, from the moment that it is opened until it is closed. */
export class Conversation {
  readonly threadId: string
  readonly chat: Chat<ChatMessage>
  private agent = ""
  private mayJoin = false
  private onChanged: () => void = () => {}
  private readonly listeners = new Set<() => void>()
  private state: State = initial
  /** Arguments that the reader changed, by the id of the approval. */
  private readonly edits: Record<string, Readonly<Record<string, unknown>>> = {}
  private readonly outbox = new Outbox()
  private readonly queue: MessageQueue
  private readonly offers = new Offers()
  private wasStreamed = false
  /** True while another answer is written. */
  private isRetried = false
  private wasDropped = false
  /** The state of the thread that the page shows. */
  private shownState: string | undefined
  private syncing: AbortController | undefined
  private readonly transport = new ConversationTransport({
    agent: () => this.agent,
    edits: () => this.edits,
    onSending: () => this.outbox.begin(),
    onTaken: () => {
      this.outbox.taken()
      this.shownState ??= "begun"
      this.set({ unsent: undefined, problem: undefined, isOffline: false })
      tell(this.threadId, "began")
      this.onChanged()
    },
    onFollowed: (isThere) => {
      this.wasStreamed = isThere
      this.set({ isPolling: false })
    }
  })
  private tries = 0
  private retryTimer: Timer | undefined
  private troubleTimer: Timer | undefined

  constructor(threadId: string) {
    this.threadId = threadId
    this.queue = new MessageQueue(threadId)
    this.state = { ...initial, queued: this.queue.list }
    this.chat = new Chat<ChatMessage>({
      id: threadId,
      generateId: newId,
      transport: this.transport,
      sendAutomaticallyWhen: (chat) =>
        lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat),
      onData: (part) => {
        if (part.type === "data-model") this.onTrouble(troubleSentence(part.data), part.data.delay ?? 0)
      },
      onError: (error) => this.onError(error),
      onFinish: ({ isAbort, isError }) => {
        this.transport.close()
        this.set({ isStopping: false, trouble: undefined })
        this.onChanged()
        if (!isAbort && !isError) tell(this.threadId, "ended")
        const { isRetried } = this
        this.isRetried = false
        // The chat is ready behind this. Another answer has versions, which the server knows.
        setTimeout(() => isRetried && !isError ? void this.sync() : this.sendNext())
      }
    })
  }

  // --- for React --------------------------------------------------------------------------------------------------

  readonly subscribe = (listener: () => void): () => void => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly snapshot = (): State => this.state

  /** Says which agent answers, and who hears that the thread has changed. */
  with({ agent, mayJoin, onChanged }: Context): void {
    this.agent = agent
    this.mayJoin = mayJoin
    this.onChanged = onChanged
  }

  get isBusy(): boolean {
    return this.chat.status === "submitted" || this.chat.status === "streaming"
  }

  // --- actions of the reader ----------------------------------------------------------------------------------------

  /** Opens the conversation. `isKnown`: the server may have messages of it. */
  open(isKnown: boolean): () => void {
    const closing = [
      hear(({ change, thread }) => {
        if (thread !== this.threadId || this.isBusy) return
        if (change === "deleted") this.set({ load: "missing" })
        else void this.sync()
      }),
      this.followPresence(),
      followThread({
        ask: (signal) =>
          this.isBusy || !this.outbox.isTaken || this.shownState === undefined
            ? undefined
            : server.threadState(this.threadId, signal),
        shown: () => this.shownState,
        onChanged: () => {
          if (this.isBusy) return
          void this.sync()
          this.onChanged()
        }
      })
    ]
    if (isKnown) {
      this.set({ load: "loading" })
      void this.sync()
    }
    return () => {
      for (const close of closing) close()
      this.syncing?.abort()
      clearTimeout(this.retryTimer)
      clearTimeout(this.troubleTimer)
      void this.chat.stop()
      this.offers.close()
      this.transport.close()
    }
  }

  /** Sends a message; one that is written while the agent works joins that, or is sent behind it. */
  readonly send = (text: string, files: ReadonlyArray<FileUIPart>): void => {
    if (this.isFree && this.queue.list.length === 0) return this.post(messageOf({ id: newId(), text, files }))
    const { id } = this.queue.add(text, files)
    this.set({ queued: this.queue.list })
    if (this.mayJoin && (this.isBusy || this.state.isPolling)) this.join(id)
    else this.sendNext()
  }

  /** Offers a queued message to the running run. */
  readonly join = (id: string): void => {
    const message = this.queue.find(id)
    if (message === undefined || message.joins) return
    this.offer(id, true)
    this.offers.make(this.agent, this.threadId, messageOf(message)).then(() => {
      this.queue.remove(id)
      this.set({ queued: this.queue.list })
      tell(this.threadId, "began")
      // A run of its own, if it has not joined the one that this page follows.
      if (!this.isBusy) void this.sync()
    }, () => {
      this.offer(id, false)
      this.sendNext()
    })
  }

  /** Withdraws a message from the running run: it is sent behind that. */
  readonly wait = (id: string): void => this.offers.withdraw(id)

  private offer(id: string, joins: boolean): void {
    this.queue.offered(id, joins)
    this.set({ queued: this.queue.list })
  }

  /** Stops the run and sends this message behind it: the agent reads it with its next turn, before the other queued ones. */
  readonly sendNow = (id: string): void => {
    this.offers.withdraw(id)
    this.queue.first(id)
    this.set({ queued: this.queue.list })
    void this.stop().then(() => this.sendNext())
  }

  /** Takes a message back that was not sent yet. */
  readonly unqueue = (id: string): void => {
    this.offers.withdraw(id)
    this.queue.remove(id)
    this.set({ queued: this.queue.list })
  }

  /** Sends the message that the server did not take. Should it have taken it after all, it is not answered twice. */
  readonly sendAgain = (): void => {
    if (this.outbox.unsent !== undefined) this.post(this.outbox.unsent)
  }

  /** Asks for another answer to the last message. */
  readonly retry = (): void => {
    this.set({ problem: undefined })
    this.isRetried = true
    const last = this.chat.lastMessage
    void this.chat.regenerate(last?.role === "assistant" ? { messageId: last.id } : {})
  }

  readonly decide = (id: string, decision: Decision): void => {
    this.set({ problem: undefined })
    if (decision.approved && decision.edited !== undefined) this.edits[id] = decision.edited
    else delete this.edits[id]
    void this.chat.addToolApprovalResponse(
      decision.approved ? { id, approved: true } : { id, approved: false, reason: decision.reason }
    )
  }

  /** Answers a question of a client tool; without an answer the call fails. */
  readonly answer = (tool: string, toolCallId: string, answered: Answered): void => {
    this.set({ problem: undefined })
    void this.chat.addToolOutput(
      answered === undefined
        ? { tool: tool as never, toolCallId, state: "output-error", errorText: "The user did not answer." }
        : { tool: tool as never, toolCallId, output: answered as never }
    )
  }

  /** Starts a conversation with the messages before one of the user, and sends the edited one there. Returns its id. */
  readonly branch = async (messageId: string, text: string): Promise<string> => {
    const said = this.chat.messages.filter(({ role }) => role === "user")
    const before = said.findIndex(({ id }) => id === messageId)
    const fresh = newId()
    await server.branch(this.threadId, fresh, before)
    keepDraft(fresh, { queued: [{ id: newId(), text }] })
    this.onChanged()
    return fresh
  }

  /** Ends the run. Its stream says so; a run that waits has none. */
  readonly stop = async (): Promise<void> => {
    this.set({ isStopping: true, problem: undefined })
    try {
      await server.stop(this.agent, this.threadId)
      tell(this.threadId, "ended")
      if (!this.isBusy) {
        await this.sync()
        this.onChanged()
      }
    } catch (error) {
      this.set({ problem: problemOf(error) })
    } finally {
      if (!this.isBusy) this.set({ isStopping: false })
    }
  }

  readonly reload = (): void => {
    this.set({ problem: undefined })
    void this.sync()
  }

  readonly dismiss = (): void => this.set({ problem: undefined })

  // --- the server ---------------------------------------------------------------------------------------------------

  /** True if a message can be sent now: no run is active, and no call waits for a decision. */
  private get isFree(): boolean {
    const last = this.chat.lastMessage
    const waits = last?.role === "assistant" && questionsOf(last).length + formsOf(last).length > 0
    return !this.isBusy && !this.state.isPolling && !waits
  }

  /** Sends the next message that waits for the agent. Behind one that the server did not take, the reader decides. */
  private sendNext(): void {
    if (!this.isFree || !this.outbox.isTaken || this.state.load !== "ready") return
    const next = this.queue.take()
    if (next === undefined) return
    this.set({ queued: this.queue.list })
    this.post(messageOf(next))
  }

  private post(message: ChatMessage): void {
    const { id, parts, role } = message
    const isShown = this.chat.messages.some((other) => other.id === id)
    this.outbox.put(message, this.chat.messages)
    this.set({ unsent: undefined, problem: undefined, load: "ready" })
    void this.chat.sendMessage(isShown ? { role, parts, messageId: id } : { id, role, parts })
  }

  /** Shows the server's state, and follows the running run. */
  private async sync(): Promise<void> {
    clearTimeout(this.retryTimer)
    this.syncing?.abort()
    const { signal } = this.syncing = new AbortController()
    try {
      for (let round = 0; round < 3; round++) {
        const { messages, thread } = await server.thread(this.threadId, signal)
        if (signal.aborted) return
        this.tries = 0
        this.shownState = stateOf(thread)
        seen(this.threadId, thread.version)
        this.show(messages)
        this.set({
          isOffline: false,
          title: thread.title,
          load: "ready",
          isPolling: this.state.isPolling && thread.isRunning
        })
        if (!thread.isRunning) return this.sendNext()
        this.wasStreamed = false
        await this.chat.resumeStream()
        if (signal.aborted || this.wasStreamed || this.chat.error instanceof NoStream) return
        // The run has ended in between: its messages are stored now.
      }
    } catch (error) {
      if (!signal.aborted) this.onSyncFailed(error)
    }
  }

  /** Shows the server's messages, and behind them one that it did not take. */
  private show(messages: ReadonlyArray<ChatMessage>): void {
    const shown = this.outbox.shown(messages)
    this.chat.messages = shown.messages
    this.chat.clearError()
    this.set({ unsent: shown.unsent })
  }

  private onSyncFailed(error: unknown): void {
    if (isNetworkError(error)) this.lostConnection()
    else this.set(afterFailedLoad(error, this.state, this.outbox.unsent?.id))
  }

  private onError(error: Error): void {
    if (error instanceof NoStream) {
      this.set({ isPolling: true })
      this.syncLater(pollEvery)
      return
    }
    if (isNetworkError(error)) return this.lostConnection()
    // A run's failure is in its message. A refusal of the server is shown here.
    if (!this.outbox.isTaken) {
      const isDecision = this.outbox.unsent === undefined
      this.set({ problem: isDecision ? decisionProblem(error) : problemOf(error) })
      // A decision in another browser notified only that browser's tabs.
      if (isDecision) tell(this.threadId, "ended")
    }
    void this.sync()
  }

  private lostConnection(): void {
    this.set({ isOffline: true })
    this.syncLater(waitBefore(this.tries++))
  }

  private syncLater(delay: number): void {
    clearTimeout(this.retryTimer)
    this.retryTimer = setTimeout(() => void this.sync(), delay)
  }

  private onTrouble(trouble: string, delay: number): void {
    this.set({ trouble })
    clearTimeout(this.troubleTimer)
    this.troubleTimer = setTimeout(() => this.set({ trouble: undefined }), delay + 4000)
  }

  // --- the browser --------------------------------------------------------------------------------------------------

  private followPresence(): () => void {
    return followPresence({
      onOnline: () => {
        this.tries = 0
        void this.sync()
      },
      onOffline: () => this.set({ isOffline: true }),
      onHidden: () => {
        if (!this.isBusy || !this.outbox.isTaken) return
        this.wasDropped = true
        this.syncing?.abort()
        void this.chat.stop()
      },
      onSeen: () => {
        if (!this.wasDropped && (this.isBusy || !this.outbox.isTaken || this.chat.messages.length === 0)) return
        this.wasDropped = false
        void this.sync()
      }
    })
  }

  private set(change: Partial<State>): void {
    const keys = Object.keys(change) as Array<keyof State>
    if (keys.every((key) => this.state[key] === change[key])) return
    this.state = { ...this.state, ...change }
    for (const listener of this.listeners) listener()
  }
}
