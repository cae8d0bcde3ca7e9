/**
 * A conversation: what was said, as the server has it. The page believes the server: after a reload, a lost connection, or a
 * change in another tab it loads the thread and follows the run that goes on.
 */
import { Chat } from "@ai-sdk/react"
import { DefaultChatTransport, type FileUIPart, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai"
import { address, failureOf, RequestFailed } from "../shared/api.ts"
import { newId } from "./ids.ts"
import type { ChatMessage } from "./parts.ts"
import { troubleSentence } from "./sentences.ts"
import * as server from "./server.ts"
import { NoStream, takeStream } from "./streams.ts"
import { hear, tell } from "./tabs.ts"

/** Yes, no, or yes with other arguments. */
export type Decision =
  | { readonly approved: true; readonly edited?: Readonly<Record<string, unknown>> }
  | { readonly approved: false; readonly reason: string }

/** What went wrong, and where an operator finds it. */
export interface Problem {
  readonly text: string
  readonly reference: string | undefined
}

const problemOf = (error: unknown): Problem => ({
  text: (error as Error).message,
  reference: error instanceof RequestFailed ? error.traceId : undefined
})

/** What is known of a conversation besides its messages. */
export interface State {
  readonly load: "loading" | "ready" | "missing" | { readonly problem: Problem }
  readonly title: string | undefined
  readonly isOffline: boolean
  readonly isStopping: boolean
  /** A run goes on that this tab has no stream for: it asks from time to time. */
  readonly isPolling: boolean
  /** The id of a message that the server did not take. */
  readonly unsent: string | undefined
  readonly problem: Problem | undefined
  /** What the page waits for, where the model makes trouble. */
  readonly trouble: string | undefined
}

type Timer = ReturnType<typeof setTimeout>

/** A hidden tab gives its connection back: a browser opens six to a server, and a run does not need it. */
const hiddenAfter = 2000

/** How often a tab without a stream asks. */
const pollEvery = 1500

const waits = [1000, 2000, 4000, 8000, 15_000]

const isNetworkError = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof RequestFailed && error.status === 0)

const countUsers = (messages: ReadonlyArray<ChatMessage>): number =>
  messages.filter(({ role }) => role === "user").length

/** A conversation of the page, from the moment that it is opened until it is closed. */
export class Conversation {
  readonly threadId: string
  readonly chat: Chat<ChatMessage>
  private agent = ""
  private onChanged: () => void = () => {}
  private readonly listeners = new Set<() => void>()
  private state: State = {
    load: "ready",
    title: undefined,
    isOffline: false,
    isStopping: false,
    isPolling: false,
    unsent: undefined,
    problem: undefined,
    trouble: undefined
  }
  /** Arguments that the reader changed, by the id of the approval. */
  private readonly edits: Record<string, Readonly<Record<string, unknown>>> = {}
  /** The message that is being sent, until the server has taken it. */
  private sending: ChatMessage | undefined
  /** How many messages of the user there were before that one. */
  private saidBefore = 0
  /** Whether the server took the last message or decision. */
  private isTaken = true
  private wasStreamed = false
  private wasDropped = false
  private syncing: AbortController | undefined
  private releaseStream: (() => void) | undefined
  private tries = 0
  private retryTimer: Timer | undefined
  private troubleTimer: Timer | undefined

  constructor(threadId: string) {
    this.threadId = threadId
    this.chat = new Chat<ChatMessage>({
      id: threadId,
      generateId: newId,
      transport: this.transport(),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      onData: (part) => {
        if (part.type === "data-model") this.onTrouble(troubleSentence(part.data), part.data.delay ?? 0)
      },
      onError: (error) => this.onError(error),
      onFinish: ({ isAbort, isError }) => {
        this.holdStream(undefined)
        this.set({ isStopping: false, trouble: undefined })
        this.onChanged()
        if (!isAbort && !isError) tell(this.threadId, "ended")
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
  with(agent: string, onChanged: () => void): void {
    this.agent = agent
    this.onChanged = onChanged
  }

  get isBusy(): boolean {
    return this.chat.status === "submitted" || this.chat.status === "streaming"
  }

  // --- what the reader does -----------------------------------------------------------------------------------------

  /** Opens the conversation. `isKnown`: the server may have messages of it. */
  open(isKnown: boolean): () => void {
    const closing = [
      hear(({ change, thread }) => {
        if (thread !== this.threadId || this.isBusy) return
        if (change === "deleted") this.set({ load: "missing" })
        else void this.sync()
      }),
      this.followConnection(),
      this.followVisibility()
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
      this.holdStream(undefined)
    }
  }

  readonly send = (text: string, files: ReadonlyArray<FileUIPart>): void =>
    this.post({
      id: newId(),
      role: "user",
      parts: [...files, ...(text === "" ? [] : [{ type: "text" as const, text }])]
    })

  /** Sends the message that the server did not take. Should it have taken it after all, it is not answered twice. */
  readonly sendAgain = (): void => {
    if (this.sending !== undefined) this.post(this.sending)
  }

  /** Asks for another answer to the last message. */
  readonly retry = (): void => {
    this.set({ problem: undefined })
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

  private transport(): DefaultChatTransport<ChatMessage> {
    const route = () => address(`agents/${encodeURIComponent(this.agent)}/chat`)
    return new DefaultChatTransport<ChatMessage>({
      fetch: async (input, init) => {
        const isSent = init?.method === "POST"
        if (isSent) this.isTaken = false
        this.holdStream(await takeStream())
        if (!isSent && this.releaseStream === undefined) throw new NoStream()
        const response = await fetch(input, init)
        if (!response.ok) {
          if (!isSent) this.holdStream(undefined)
          throw await failureOf(response)
        }
        if (!isSent) {
          this.wasStreamed = response.status === 200
          if (!this.wasStreamed) this.holdStream(undefined)
          this.set({ isPolling: false })
        } else {
          this.isTaken = true
          this.sending = undefined
          this.set({ unsent: undefined, problem: undefined, isOffline: false })
          tell(this.threadId, "began")
          this.onChanged()
          if (this.releaseStream === undefined) {
            void response.body?.cancel()
            throw new NoStream()
          }
        }
        return response
      },
      prepareSendMessagesRequest: ({ id, messageId, messages, trigger }) => ({
        api: route(),
        // The server has the rest.
        body: { id, messages: messages.slice(-1), trigger, messageId, edits: this.edits }
      }),
      prepareReconnectToStreamRequest: ({ id }) => ({ api: `${route()}/${encodeURIComponent(id)}/stream` })
    })
  }

  private post(message: ChatMessage): void {
    const { id, parts, role } = message
    const isShown = this.chat.messages.some((other) => other.id === id)
    this.sending = message
    this.saidBefore = countUsers(this.chat.messages.filter((other) => other.id !== id))
    this.isTaken = false
    this.set({ unsent: undefined, problem: undefined, load: "ready" })
    void this.chat.sendMessage(isShown ? { role, parts, messageId: id } : { id, role, parts })
  }

  /** Shows what the server has, and follows the run that goes on. */
  private async sync(): Promise<void> {
    clearTimeout(this.retryTimer)
    this.syncing?.abort()
    const { signal } = this.syncing = new AbortController()
    try {
      for (let round = 0; round < 3; round++) {
        const { messages, thread } = await server.thread(this.threadId, signal)
        if (signal.aborted) return
        this.tries = 0
        this.show(messages)
        this.set({
          isOffline: false,
          title: thread.title,
          load: "ready",
          isPolling: this.state.isPolling && thread.isRunning
        })
        if (!thread.isRunning) return
        this.wasStreamed = false
        await this.chat.resumeStream()
        if (signal.aborted || this.wasStreamed || this.chat.error instanceof NoStream) return
        // The run has ended in between: what it said is stored now.
      }
    } catch (error) {
      if (!signal.aborted) this.onSyncFailed(error)
    }
  }

  /** Shows the server's messages, and behind them one that it did not take. */
  private show(messages: ReadonlyArray<ChatMessage>): void {
    const lost = this.isTaken ? undefined : this.sending
    const isLost = lost !== undefined && countUsers(messages) <= this.saidBefore
    if (!isLost) this.sending = undefined
    this.isTaken = !isLost
    this.chat.messages = isLost ? [...messages, lost] : [...messages]
    this.chat.clearError()
    this.set({ unsent: isLost ? lost.id : undefined })
  }

  private onSyncFailed(error: unknown): void {
    if (isNetworkError(error)) this.lostConnection()
    else if (error instanceof RequestFailed && error.status === 404) {
      this.set({ isOffline: false })
      // A thread whose first message was not taken is not there yet.
      if (this.sending === undefined) this.set({ load: "missing" })
      else this.set({ unsent: this.sending.id })
    } else {
      const problem = problemOf(error)
      this.set(this.state.load === "ready" ? { problem } : { load: { problem } })
    }
  }

  private onError(error: Error): void {
    if (error instanceof NoStream) {
      this.set({ isPolling: true })
      this.syncLater(pollEvery)
      return
    }
    if (isNetworkError(error)) return this.lostConnection()
    // How a run failed stands in its message. What the server refused stands here.
    if (!this.isTaken) this.set({ problem: problemOf(error) })
    void this.sync()
  }

  private lostConnection(): void {
    this.set({ isOffline: true })
    this.syncLater(waits[Math.min(this.tries++, waits.length - 1)]!)
  }

  private syncLater(delay: number): void {
    clearTimeout(this.retryTimer)
    this.retryTimer = setTimeout(() => void this.sync(), delay)
  }

  /** Holds a stream in place of the one that was held. */
  private holdStream(release: (() => void) | undefined): void {
    this.releaseStream?.()
    this.releaseStream = release
  }

  private onTrouble(trouble: string, delay: number): void {
    this.set({ trouble })
    clearTimeout(this.troubleTimer)
    this.troubleTimer = setTimeout(() => this.set({ trouble: undefined }), delay + 4000)
  }

  // --- the browser --------------------------------------------------------------------------------------------------

  private followConnection(): () => void {
    const onOnline = (): void => {
      this.tries = 0
      void this.sync()
    }
    const onOffline = (): void => this.set({ isOffline: true })
    addEventListener("online", onOnline)
    addEventListener("offline", onOffline)
    return () => {
      removeEventListener("online", onOnline)
      removeEventListener("offline", onOffline)
    }
  }

  private followVisibility(): () => void {
    let hiding: Timer | undefined
    const drop = (): void => {
      if (!this.isBusy || !this.isTaken) return
      this.wasDropped = true
      this.syncing?.abort()
      void this.chat.stop()
    }
    const onVisibility = (): void => {
      clearTimeout(hiding)
      if (document.visibilityState === "hidden") hiding = setTimeout(drop, hiddenAfter)
      else if (this.wasDropped || (!this.isBusy && this.isTaken && this.chat.messages.length > 0)) {
        this.wasDropped = false
        void this.sync()
      }
    }
    document.addEventListener("visibilitychange", onVisibility)
    return () => {
      clearTimeout(hiding)
      document.removeEventListener("visibilitychange", onVisibility)
    }
  }

  private set(change: Partial<State>): void {
    const keys = Object.keys(change) as Array<keyof State>
    if (keys.every((key) => this.state[key] === change[key])) return
    this.state = { ...this.state, ...change }
    for (const listener of this.listeners) listener()
  }
}
