/** The threads: search, open, rename, delete. */
import { type KeyboardEvent, type Ref, useEffect, useRef, useState } from "react"
import { Button, IconButton } from "../shared/Button.tsx"
import { visible } from "../shared/exact.ts"
import { Icon } from "../shared/Icon.tsx"
import { placeUrl } from "./place.ts"
import * as server from "./server.ts"
import { isNew } from "./seenThreads.ts"
import type { Thread } from "./server.ts"
import type { Threads } from "./useThreads.ts"

interface Props {
  readonly threads: Threads
  readonly search: string
  readonly searchRef: Ref<HTMLInputElement>
  readonly current: string | undefined
  readonly onSearch: (text: string) => void
  readonly onOpen: (thread: string) => void
  readonly onNew: () => void
  readonly onRenamed: (thread: string, title: string) => void
  readonly onDeleted: (thread: string) => void
}

const nameOf = ({ title = "" }: Thread): string => visible(title) || "Untitled"

const day = 86_400_000

/** Heading of a thread in the list. */
const groupOf = (updatedAt: number, now: number): string => {
  const midnight = new Date(now).setHours(0, 0, 0, 0)
  if (updatedAt >= midnight) return "Today"
  if (updatedAt >= midnight - day) return "Yesterday"
  if (updatedAt >= midnight - 7 * day) return "Last seven days"
  return "Earlier"
}

interface RowProps {
  readonly thread: Thread
  readonly isCurrent: boolean
  readonly onOpen: () => void
  readonly onRename: (title: string) => Promise<void>
  readonly onDelete: () => void
}

const Row = ({ isCurrent, onDelete, onOpen, onRename, thread }: RowProps) => {
  const [draft, setDraft] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const renameRef = useRef<HTMLButtonElement>(null)
  const done = (): void => {
    setDraft(undefined)
    setProblem(undefined)
    setTimeout(() => renameRef.current?.focus())
  }
  const save = (): void => {
    const title = draft?.trim() ?? ""
    if (title === "" || title === nameOf(thread)) return done()
    onRename(title).then(done, (error: Error) => setProblem(error.message))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter") save()
    if (event.key === "Escape") {
      // The drawer stays open.
      event.stopPropagation()
      done()
    }
  }
  if (draft !== undefined) {
    return (
      <li className="thread is-edited">
        <input
          className="field"
          aria-label="Title of the conversation"
          autoFocus
          dir="auto"
          maxLength={200}
          value={draft}
          onFocus={(event) => event.target.select()}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <IconButton variant="quiet" size="small" icon="check" label="Save title" onClick={save} />
        <IconButton variant="quiet" size="small" icon="close" label="Keep the old title" onClick={done} />
        {problem === undefined ? null : <p className="field-problem" role="alert">{problem}</p>}
      </li>
    )
  }
  return (
    <li className="thread" data-current={isCurrent}>
      <a
        href={placeUrl({ agent: undefined, thread: thread.id })}
        aria-current={isCurrent ? "page" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return
          event.preventDefault()
          onOpen()
        }}
      >
        {thread.isRunning
          ? <span className="spinner" role="img" aria-label="running" />
          : thread.isWaiting
          ? (
            <span className="thread-waits" role="img" aria-label="waits for a decision">
              <Icon name="hand" />
            </span>
          )
          : !isCurrent && isNew(thread.id, thread.version)
          ? <span className="thread-new" role="img" aria-label="something new" />
          : null}
        <span className="thread-name" dir="auto">{nameOf(thread)}</span>
      </a>
      <span className="thread-actions">
        <IconButton
          ref={renameRef}
          variant="quiet"
          size="small"
          icon="edit"
          label={`Rename ${nameOf(thread)}`}
          onClick={() => setDraft(nameOf(thread))}
        />
        <IconButton variant="quiet" size="small" icon="trash" label={`Delete ${nameOf(thread)}`} onClick={onDelete} />
      </span>
    </li>
  )
}

interface DeleteProps {
  readonly thread: Thread
  readonly onDeleted: () => void
  readonly onClose: () => void
}

const DeleteDialog = ({ onClose, onDeleted, thread }: DeleteProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const [problem, setProblem] = useState<string>()
  useEffect(() => dialog.current?.showModal(), [])
  const confirm = (): void => {
    server.remove(thread.id).then(onDeleted, (error: Error) => setProblem(error.message))
  }
  return (
    <dialog ref={dialog} aria-labelledby="delete-title" onClose={onClose}>
      <h2 id="delete-title">Delete this conversation?</h2>
      <p>
        “<bdi>{nameOf(thread)}</bdi>” and all of its messages are deleted for good.
        {thread.isRunning || thread.isWaiting ? " The agent's work there is stopped." : null}
      </p>
      {problem === undefined ? null : <p className="field-problem" role="alert">{problem}</p>}
      <div className="dialog-actions">
        <Button autoFocus onClick={() => dialog.current?.close()}>Keep</Button>
        <Button className="danger" icon="trash" onClick={confirm}>Delete</Button>
      </div>
    </dialog>
  )
}

export const Sidebar = (props: Props) => {
  const { current, onDeleted, onNew, onOpen, onRenamed, onSearch, search, searchRef, threads } = props
  const [deleting, setDeleting] = useState<Thread>()
  const [now] = useState(() => Date.now())
  const groups = Map.groupBy(threads.list, ({ updatedAt }) => groupOf(updatedAt, now))
  return (
    <>
      <div className="sidebar-head">
        <Button className="new" icon="plus" onClick={onNew}>New conversation</Button>
        <search className="search">
          <Icon name="search" />
          <input
            ref={searchRef}
            className="field"
            type="search"
            aria-label="Search conversations"
            aria-keyshortcuts="Control+K Meta+K"
            placeholder="Search"
            dir="auto"
            value={search}
            onChange={(event) => onSearch(event.target.value)}
          />
        </search>
      </div>
      <nav className="threads" aria-label="Conversations">
        {[...groups].map(([group, list]) => (
          <section key={group} aria-label={group}>
            <h2>{group}</h2>
            <ul>
              {list.map((thread) => (
                <Row
                  key={thread.id}
                  thread={thread}
                  isCurrent={thread.id === current}
                  onOpen={() => onOpen(thread.id)}
                  onRename={async (title) => {
                    await server.rename(thread.id, title)
                    onRenamed(thread.id, title)
                  }}
                  onDelete={() => setDeleting(thread)}
                />
              ))}
            </ul>
          </section>
        ))}
        {threads.list.length > 0 || threads.isLoading ?
          null :
          <p className="threads-none">{search === "" ? "No messages yet." : "No conversation has these words."}</p>}
        {threads.problem === undefined ? null : (
          <p className="threads-none" role="alert">
            {threads.problem} <Button size="small" onClick={threads.refresh}>Try again</Button>
          </p>
        )}
        {threads.more === undefined ?
          null :
          <Button className="threads-more" variant="quiet" size="small" onClick={threads.more}>Show more</Button>}
        <p className="visually-hidden" role="status">
          {search === "" || threads.isLoading ? "" : `${threads.list.length} conversations found`}
        </p>
      </nav>
      {deleting === undefined ? null : (
        <DeleteDialog
          thread={deleting}
          onClose={() => setDeleting(undefined)}
          onDeleted={() => {
            setDeleting(undefined)
            onDeleted(deleting.id)
          }}
        />
      )}
    </>
  )
}
