/** The chat: threads at the side, the conversation in the middle. */
import { useCallback, useEffect, useRef, useState } from "react"
import { Button, IconButton } from "../shared/Button.tsx"
import { RequestFailed } from "../shared/api.ts"
import { visible } from "../shared/exact.ts"
import { SignIn } from "../shared/SignIn.tsx"
import { ThemeToggle } from "../shared/ThemeToggle.tsx"
import { ConversationView, titleOf } from "./ConversationView.tsx"
import { newId } from "./ids.ts"
import { go, usePlace } from "./place.ts"
import { type Capabilities, capabilities as loadCapabilities } from "./server.ts"
import { Sidebar } from "./Sidebar.tsx"
import { tell } from "./tabs.ts"
import { useThreads } from "./useThreads.ts"
import "./chat.css"

const useCapabilities = () => {
  const [capabilities, setCapabilities] = useState<Capabilities>()
  const [problem, setProblem] = useState<Error>()
  const load = useCallback(() => {
    const controller = new AbortController()
    loadCapabilities(controller.signal).then(
      (found) => {
        setCapabilities(found)
        setProblem(undefined)
      },
      (error: Error) => controller.signal.aborted || setProblem(error)
    )
    return () => controller.abort()
  }, [])
  useEffect(load, [load])
  return { capabilities, problem, again: load }
}

export const App = () => {
  const { again, capabilities, problem } = useCapabilities()
  const place = usePlace()
  const [draft, setDraft] = useState(newId)
  const [wasBegun, setBegun] = useState(false)
  const [search, setSearch] = useState("")
  const [isOpen, setOpen] = useState(false)
  const [title, setTitle] = useState<string>()
  const threads = useThreads(search)
  const { refresh } = threads
  const searchRef = useRef<HTMLInputElement>(null)
  const menuRef = useRef<HTMLButtonElement>(null)
  const threadId = place.thread ?? draft
  const agents = capabilities?.agents ?? []
  const agent = agents.find(({ name }) => name === place.agent) ?? agents[0]
  const found = title ?? threads.list.find(({ id }) => id === place.thread)?.title
  const shownTitle = found === undefined ? undefined : visible(found) || undefined

  // The thread that was started here was left: a returning reader loads it.
  if (place.thread !== undefined && place.thread !== draft && wasBegun) {
    setDraft(newId())
    setBegun(false)
  }
  const startNew = useCallback(() => {
    setDraft(newId())
    setBegun(false)
    setTitle(undefined)
    setOpen(false)
    go({ thread: undefined })
  }, [])
  const close = useCallback(() => {
    setOpen(false)
    menuRef.current?.focus()
  }, [])
  const onAgent = useCallback((name: string) => go({ agent: name }, { replace: true }), [])

  useEffect(() => {
    document.title = [shownTitle, agent === undefined ? "Chat" : titleOf(agent)].filter(Boolean).join(" – ")
  }, [agent, shownTitle])
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && isOpen && document.querySelector("dialog[open]") === null) close()
      if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        setOpen(true)
        setTimeout(() => searchRef.current?.focus())
      }
    }
    document.addEventListener("keydown", onKeyDown)
    return () => document.removeEventListener("keydown", onKeyDown)
  }, [close, isOpen])

  if (problem instanceof RequestFailed && (problem.status === 401 || problem.status === 403)) {
    return <SignIn isKnown={problem.status === 403} what="The chat" />
  }
  if (capabilities === undefined || agent === undefined) {
    return (
      <main className="page-state">
        {problem !== undefined
          ? (
            <div role="alert">
              <h1>The chat cannot be opened.</h1>
              <p>{problem.message}</p>
              <Button icon="retry" onClick={again}>Try again</Button>
            </div>
          )
          : capabilities === undefined
          ? (
            <p role="status">
              <span className="spinner" aria-hidden="true" /> Loading…
            </p>
          )
          : <h1>There is no agent that you may talk to.</h1>}
      </main>
    )
  }
  return (
    <div className="app" data-open={isOpen}>
      <a className="skip" href="#conversation">Skip to the conversation</a>
      <aside className="sidebar" id="sidebar" aria-label="Conversations">
        <Sidebar
          threads={threads}
          search={search}
          searchRef={searchRef}
          current={place.thread}
          onSearch={setSearch}
          onNew={startNew}
          onOpen={(thread) => {
            setTitle(undefined)
            setOpen(false)
            go({ thread, agent: undefined })
          }}
          onRenamed={(thread, renamed) => {
            if (thread === place.thread) setTitle(renamed)
            refresh()
            tell(thread, "renamed")
          }}
          onDeleted={(thread) => {
            refresh()
            tell(thread, "deleted")
            if (thread === place.thread) startNew()
          }}
        />
      </aside>
      <button type="button" className="scrim" tabIndex={-1} aria-hidden="true" onClick={close} />
      <main className="main" id="conversation" tabIndex={-1}>
        <header className="top">
          <IconButton
            ref={menuRef}
            className="menu"
            variant="quiet"
            icon="menu"
            label={isOpen ? "Hide conversations" : "Show conversations"}
            aria-expanded={isOpen}
            aria-controls="sidebar"
            onClick={() => setOpen(!isOpen)}
          />
          <h1 dir="auto">{shownTitle ?? titleOf(agent)}</h1>
          {agents.length < 2 ? null : (
            <select
              className="field agents"
              aria-label="Agent"
              value={agent.name}
              onChange={(event) => go({ agent: event.target.value }, { replace: true })}
            >
              {agents.map((other) => <option key={other.name} value={other.name}>{titleOf(other)}</option>)}
            </select>
          )}
          {capabilities.principal.rights.includes("operate")
            ? <a className="button quiet small" href="./studio">Studio</a>
            : null}
          <ThemeToggle />
        </header>
        <ConversationView
          key={threadId}
          agent={agent}
          capabilities={capabilities}
          threadId={threadId}
          isKnown={place.thread !== undefined && place.thread !== draft}
          onBegan={() => {
            if (place.thread !== undefined) return
            setBegun(true)
            go({ thread: threadId, agent: agent.name }, { replace: true })
          }}
          onChanged={refresh}
          onTitle={setTitle}
          onAgent={onAgent}
          onNew={startNew}
        />
      </main>
    </div>
  )
}
