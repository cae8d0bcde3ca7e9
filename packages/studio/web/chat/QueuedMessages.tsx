/** Messages that the agent has not read: those that join its work, and those that are sent when it is done. */
import { Button, IconButton } from "../shared/Button.tsx"
import { visible } from "../shared/exact.ts"
import { Icon } from "../shared/Icon.tsx"
import type { QueuedMessage } from "./queue.ts"

interface Props {
  readonly queued: ReadonlyArray<QueuedMessage>
  readonly isBusy: boolean
  readonly isStopping: boolean
  /** True if a message can join the run. */
  readonly mayJoin: boolean
  readonly onJoin: (id: string) => void
  readonly onWait: (id: string) => void
  readonly onSendNow: (id: string) => void
  readonly onRemove: (id: string) => void
}

export const QueuedMessages = (props: Props) => {
  const joining = props.queued.filter(({ joins }) => joins)
  const waiting = props.queued.filter(({ joins }) => !joins)
  return (
    <>
      <List {...props} title="Read at the agent's next step" messages={joining} />
      <List {...props} title="Sent when the agent is done" messages={waiting} />
    </>
  )
}

const List = (
  { isBusy, isStopping, mayJoin, messages, onJoin, onRemove, onSendNow, onWait, title }: Props & {
    readonly title: string
    readonly messages: ReadonlyArray<QueuedMessage>
  }
) =>
  messages.length === 0 ? null : (
    <section className="queued">
      <p>{title}</p>
      <ul aria-label={title}>
        {messages.map(({ files, id, joins, text }) => (
          <li key={id}>
            <Icon name={joins ? "send" : "clock"} />
            <span dir="auto">{text === "" ? `${files.length} files` : visible(text)}</span>
            {isBusy && joins
              ? (
                <Button variant="quiet" size="small" icon="clock" onClick={() => onWait(id)}>
                  Wait until it is done
                </Button>
              )
              : null}
            {isBusy && !joins && mayJoin
              ? (
                <Button variant="quiet" size="small" icon="send" disabled={isStopping} onClick={() => onJoin(id)}>
                  At the next step
                </Button>
              )
              : null}
            {isBusy
              ? (
                <Button
                  variant="quiet"
                  size="small"
                  icon="stop"
                  disabled={isStopping}
                  onClick={() => onSendNow(id)}
                >
                  Stop and send now
                </Button>
              )
              : null}
            <IconButton variant="quiet" size="small" icon="close" label="Do not send" onClick={() => onRemove(id)} />
          </li>
        ))}
      </ul>
    </section>
  )
