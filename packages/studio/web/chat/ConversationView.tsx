/** A conversation with an agent: its messages, and the field of the next message. */
import { useChat } from "@ai-sdk/react"
import { useCallback, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react"
import { announce } from "../shared/announce.ts"
import { Button, IconButton } from "../shared/Button.tsx"
import { CopyButton } from "../shared/CopyButton.tsx"
import { Icon } from "../shared/Icon.tsx"
import { Composer } from "./Composer.tsx"
import { Conversation, type Decision, type Problem } from "./conversation.ts"
import { Message } from "./Message.tsx"
import { type ChatMessage, formsOf, questionsOf, textOf } from "./parts.ts"
import { go } from "./place.ts"
import { humanized } from "./sentences.ts"
import type { Agent, Capabilities } from "./server.ts"
import { QueuedMessages } from "./QueuedMessages.tsx"
import { Welcome } from "./Welcome.tsx"

interface Props {
  readonly agent: Agent
  readonly capabilities: Capabilities
  readonly threadId: string
  readonly isKnown: boolean
  readonly onBegan: () => void
  readonly onChanged: () => void
  readonly onTitle: (title: string | undefined) => void
  /** The agent that answered last. */
  readonly onAgent: (agent: string) => void
  readonly onNew: () => void
}

export const titleOf = (agent: Agent): string => agent.title ?? humanized(agent.name)

/** Keeps the newest text in sight, as long as the reader has not scrolled away from it. */
const useFollow = () => {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [isAtEnd, setAtEnd] = useState(true)
  const follows = useRef(true)
  const lastTop = useRef(0)
  const toEnd = useCallback(() => {
    const at = scroller.current
    follows.current = true
    if (at !== null) at.scrollTop = at.scrollHeight
  }, [])
  const onScroll = useCallback(() => {
    const at = scroller.current
    if (at === null) return
    const isNear = at.scrollHeight - at.scrollTop - at.clientHeight < 60
    // Up is the reader's doing; that there is more below is not.
    if (isNear) follows.current = true
    else if (at.scrollTop < lastTop.current) follows.current = false
    lastTop.current = at.scrollTop
    setAtEnd(isNear || follows.current)
  }, [])
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      if (follows.current) toEnd()
    })
    if (content.current !== null) observer.observe(content.current)
    if (scroller.current !== null) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [toEnd])
  return { scroller, content, isAtEnd, toEnd, onScroll }
}

/** Reports the progress of the answer to screen readers: single words would be too many. */
const useAnnouncements = (
  { isBusy, isOffline, messages }: {
    readonly isBusy: boolean
    readonly isOffline: boolean
    readonly messages: ReadonlyArray<ChatMessage>
  }
): void => {
  const was = useRef({ isBusy: false, isOffline: false })
  useEffect(() => {
    const before = was.current
    was.current = { isBusy, isOffline }
    if (isOffline !== before.isOffline) {
      announce(isOffline ? "Connection lost. The page tries to connect again." : "Connected again.")
      return
    }
    if (isBusy === before.isBusy) return
    if (isBusy) {
      announce("The agent is working.")
      return
    }
    const last = messages.at(-1)
    if (last?.role !== "assistant") return
    const questions = questionsOf(last)
    if (questions.length > 0) {
      announce(`Your decision is needed: ${questions.map(({ toolName }) => humanized(toolName)).join(", ")}.`)
    } else if (formsOf(last).length > 0) announce("The agent asks you a question.")
    else if (last.metadata?.outcome === "interrupted") announce("Stopped.")
    else if (last.metadata?.outcome === "failure") announce(last.metadata.errorText ?? "Something went wrong.")
    else announce(`Answer: ${textOf(last).slice(0, 400)}`)
  }, [isBusy, isOffline, messages])
}

const Told = ({ problem: { reference, text } }: { readonly problem: Problem }) => (
  <p>
    {text}
    {reference === undefined ? null : (
      <span className="reference">
        {" "}Reference: <code>{reference}</code> <CopyButton text={reference} label="Copy the reference" />
      </span>
    )}
  </p>
)

export const ConversationView = (props: Props) => {
  const { agent, capabilities, isKnown, onAgent, onBegan, onChanged, onNew, onTitle, threadId } = props
  const [conversation] = useState(() => new Conversation(threadId))
  const [wasKnown] = useState(isKnown)
  const state = useSyncExternalStore(conversation.subscribe, conversation.snapshot)
  const { isOffline, isPolling, isStopping, load, problem, queued, title, trouble, unsent } = state
  const { messages, status } = useChat<ChatMessage>({ chat: conversation.chat, throttle: 40 })
  const isBusy = status === "submitted" || status === "streaming" || isPolling
  const input = useRef<HTMLTextAreaElement>(null)
  const { content, isAtEnd, onScroll, scroller, toEnd } = useFollow()
  const last = messages.at(-1)
  const questions = last?.role === "assistant" ? questionsOf(last) : []
  const forms = last?.role === "assistant" ? formsOf(last) : []
  const mayDecide = capabilities.principal.rights.includes("decide")
  useAnnouncements({ isBusy, isOffline, messages })

  const mayJoin = capabilities.onBusy === "join"
  useEffect(() => conversation.with({ agent: agent.name, mayJoin, onChanged }), [
    agent.name,
    conversation,
    mayJoin,
    onChanged
  ])
  useEffect(() => conversation.open(wasKnown), [conversation, wasKnown])
  useEffect(() => onTitle(title), [onTitle, title])
  const answeredBy = messages.findLast(({ metadata }) => metadata?.agent !== undefined)?.metadata?.agent
  useEffect(() => {
    if (answeredBy !== undefined) onAgent(answeredBy)
  }, [answeredBy, onAgent])
  useEffect(() => {
    // A keyboard on the screen would hide the page.
    if (load === "ready" && matchMedia("(hover: hover)").matches) input.current?.focus({ preventScroll: true })
  }, [load])

  const onDecide = useCallback((id: string, decision: Decision) => {
    conversation.decide(id, decision)
    // The question is gone: the keyboard focus moves to the message field.
    input.current?.focus({ preventScroll: true })
  }, [conversation])
  const onBranch = useCallback(
    (messageId: string, text: string) =>
      conversation.branch(messageId, text).then((thread) => go({ thread, agent: agent.name })),
    [agent.name, conversation]
  )
  const send: Conversation["send"] = (text, files) => {
    onBegan()
    conversation.send(text, files)
    toEnd()
  }

  if (load === "missing" || typeof load === "object") {
    return (
      <div className="conversation-missing" role="alert">
        <h2>{load === "missing" ? "This conversation does not exist." : "The conversation cannot be shown."}</h2>
        {load === "missing" ? <p>It was deleted, or it belongs to somebody else.</p> : <Told problem={load.problem} />}
        {load === "missing"
          ? <Button variant="primary" icon="plus" onClick={onNew}>New conversation</Button>
          : <Button icon="retry" onClick={conversation.reload}>Try again</Button>}
      </div>
    )
  }
  const blocked = questions.length === 0
    ? forms.length === 0 ? undefined : "Answer the question above first, or cancel."
    : mayDecide
    ? `Decide about ${questions.length === 1 ? "the question" : "the questions"} above first, or cancel.`
    : "A decision is awaited."
  return (
    <div className="conversation">
      <div className="scroller" ref={scroller} onScroll={onScroll} tabIndex={-1}>
        <div
          className="messages"
          ref={content}
          role="log"
          aria-label="Conversation"
          aria-live="off"
          aria-busy={load === "loading"}
        >
          {load === "loading" && messages.length === 0
            ? (
              <p className="loading" role="status">
                <span className="spinner" aria-hidden="true" /> Loading…
              </p>
            )
            : null}
          {load === "ready" && messages.length === 0
            ? <Welcome agent={agent} onSuggestion={(text) => send(text, [])} />
            : null}
          {messages.map((message, index) => {
            const isLast = index === messages.length - 1
            return (
              <Message
                // The server gives a sent message another id: a form within it stays.
                key={message.role === "user" ? `user ${index}` : message.id}
                message={message}
                isLast={isLast}
                isBusy={isLast && isBusy}
                isUnsent={message.id === unsent}
                mayDecide={mayDecide}
                takesFeedback={capabilities.takesFeedback}
                isOperator={capabilities.principal.rights.includes("operate")}
                onDecide={onDecide}
                onAnswer={conversation.answer}
                onBranch={onBranch}
                threadId={threadId}
                onRetry={conversation.retry}
                onSendAgain={conversation.sendAgain}
              />
            )
          })}
          {isBusy
            ? (
              <p className="working">
                <span className="dots" aria-hidden="true">
                  <i />
                  <i />
                  <i />
                </span>
                <span>{isStopping ? "Stopping…" : trouble ?? "Working…"}</span>
              </p>
            )
            : null}
        </div>
      </div>
      <div className="dock">
        {isAtEnd ?
          null :
          <IconButton className="to-end round" icon="down" label="Go to the newest message" onClick={toEnd} />}
        {isOffline
          ? (
            <p className="notice offline" role="status">
              <span className="spinner" aria-hidden="true" /> Connection lost. Trying to connect again…
              <Button size="small" onClick={conversation.reload}>Now</Button>
            </p>
          )
          : null}
        {problem === undefined ? null : (
          <div className="notice problem" role="alert">
            <Icon name="warn" />
            <Told problem={problem} />
            <IconButton variant="quiet" size="small" icon="close" label="Dismiss" onClick={conversation.dismiss} />
          </div>
        )}
        {questions.length + forms.length > 0 && !isBusy
          ? (
            <p className="notice waiting">
              <Icon name="hand" /> <span>{blocked}</span>
              <Button size="small" onClick={() => void conversation.stop()}>Cancel request</Button>
            </p>
          )
          : null}
        <QueuedMessages
          queued={queued}
          isBusy={isBusy}
          isStopping={isStopping}
          mayJoin={mayJoin}
          onJoin={conversation.join}
          onWait={conversation.wait}
          onSendNow={conversation.sendNow}
          onRemove={conversation.unqueue}
        />
        <Composer
          draftKey={messages.length === 0 && !wasKnown ? `new ${agent.name}` : threadId}
          agentTitle={titleOf(agent)}
          fileTypes={agent.files ?? []}
          maxBodyBytes={capabilities.maxBodyBytes}
          isBusy={isBusy}
          mayJoin={mayJoin}
          isStopping={isStopping}
          blocked={isBusy ? undefined : blocked}
          inputRef={input}
          onSend={send}
          onStop={() => void conversation.stop()}
        />
      </div>
    </div>
  )
}
