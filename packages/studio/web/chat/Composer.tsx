/** The message field: Enter sends, Shift and Enter start a new line. */
import type { FileUIPart } from "ai"
import {
  type ClipboardEvent,
  type DragEvent,
  type FormEvent,
  type KeyboardEvent,
  type Ref,
  useRef,
  useState
} from "react"
import { announce } from "../shared/announce.ts"
import { IconButton } from "../shared/Button.tsx"
import { Icon } from "../shared/Icon.tsx"
import { draftOf, keepDraft } from "./drafts.ts"
import { attach, roomFor, sizeOf } from "./attachments.ts"

interface Props {
  /** Under which the text is found again after a reload. */
  readonly draftKey: string
  readonly agentTitle: string
  readonly fileTypes: ReadonlyArray<string>
  readonly maxBodyBytes: number
  readonly isBusy: boolean
  /** True if a message joins the agent's work. */
  readonly mayJoin: boolean
  readonly isStopping: boolean
  /** Reason why a message cannot be sent now. */
  readonly blocked: string | undefined
  readonly inputRef: Ref<HTMLTextAreaElement>
  readonly onSend: (text: string, files: ReadonlyArray<FileUIPart>) => void
  readonly onStop: () => void
}

export const Composer = (props: Props) => {
  const {
    agentTitle,
    blocked,
    draftKey,
    fileTypes,
    inputRef,
    isBusy,
    isStopping,
    maxBodyBytes,
    mayJoin,
    onSend,
    onStop
  } = props
  const [text, setText] = useState(() => draftOf(draftKey).text)
  const [files, setFiles] = useState<ReadonlyArray<FileUIPart>>([])
  const [problems, setProblems] = useState<ReadonlyArray<string>>([])
  const picker = useRef<HTMLInputElement>(null)
  const takesFiles = fileTypes.length > 0
  const isWritten = text.trim() !== "" || files.length > 0
  const canSend = isWritten
  const write = (text: string): void => {
    setText(text)
    keepDraft(draftKey, { text })
  }

  const add = (chosen: ReadonlyArray<File>): void => {
    if (chosen.length === 0) return
    const used = files.reduce((sum, file) => sum + sizeOf(file), 0)
    void attach(chosen, { types: fileTypes, room: roomFor(maxBodyBytes) - used }).then(({ parts, problems }) => {
      setFiles((known) => [...known, ...parts])
      setProblems(problems)
      if (parts.length > 0) announce(`${parts.length} attached`)
    }, (error: Error) => setProblems([error.message]))
  }
  const send = (event?: FormEvent): void => {
    event?.preventDefault()
    if (!canSend) return
    if (isBusy && mayJoin) announce("The agent reads the message at its next step.")
    else if (isBusy) announce("The message is sent when the agent is done.")
    else if (blocked !== undefined) announce("The message is sent when the question is answered.")
    onSend(text.trim(), files)
    write("")
    setFiles([])
    setProblems([])
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter also ends a composition of several keys.
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) send(event as unknown as FormEvent)
  }
  const onPaste = (event: ClipboardEvent): void => {
    if (!takesFiles || event.clipboardData.files.length === 0) return
    event.preventDefault()
    add([...event.clipboardData.files])
  }
  const onDrop = (event: DragEvent): void => {
    event.preventDefault()
    if (takesFiles) add([...event.dataTransfer.files])
    else if (event.dataTransfer.files.length > 0) setProblems([`${agentTitle} takes no files.`])
  }
  return (
    <form className="composer" onSubmit={send} onDrop={onDrop} onDragOver={(event) => event.preventDefault()}>
      {problems.length === 0 ?
        null :
        (
          <ul className="composer-problems" role="alert">
            {problems.map((problem) => <li key={problem}>{problem}</li>)}
          </ul>
        )}
      {files.length === 0 ? null : (
        <ul className="composer-files" aria-label="Attachments">
          {files.map((file, index) => (
            <li key={index}>
              <Icon name="file" /> <span>{file.filename ?? file.mediaType}</span>
              <IconButton
                variant="quiet"
                size="small"
                icon="close"
                label={`Remove ${file.filename ?? "attachment"}`}
                onClick={() => setFiles((known) => known.filter((other) => other !== file))}
              />
            </li>
          ))}
        </ul>
      )}
      <div className="composer-row">
        {takesFiles
          ? (
            <>
              <input
                ref={picker}
                type="file"
                hidden
                multiple
                accept={fileTypes.join(",")}
                onChange={(event) => {
                  add([...event.target.files ?? []])
                  event.target.value = ""
                }}
              />
              <IconButton variant="quiet" icon="attach" label="Attach files" onClick={() => picker.current?.click()} />
            </>
          )
          : null}
        <textarea
          ref={inputRef}
          aria-label={`Message to ${agentTitle}`}
          aria-describedby={blocked === undefined ? undefined : "composer-blocked"}
          placeholder={`Message ${agentTitle}`}
          rows={1}
          value={text}
          dir="auto"
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        {isBusy && isWritten
          ? (
            <IconButton
              className="round"
              type="submit"
              variant="quiet"
              icon={mayJoin ? "send" : "clock"}
              label={mayJoin ? "Send to the agent's next step" : "Send when the agent is done"}
              disabled={!canSend}
            />
          )
          : null}
        {isBusy
          ? (
            <IconButton
              className="round"
              variant="primary"
              icon="stop"
              label={isStopping ? "Stopping" : "Stop"}
              disabled={isStopping}
              onClick={onStop}
            />
          )
          : (
            <IconButton
              className="round"
              type="submit"
              variant="primary"
              icon="send"
              label="Send"
              disabled={!canSend}
            />
          )}
      </div>
      {blocked === undefined ? null : <p className="composer-blocked" id="composer-blocked">{blocked}</p>}
    </form>
  )
}
