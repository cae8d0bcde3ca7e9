/** Difference of two requests to the model: messages that are the same, gone or new, and the lines of a changed one. Pure. */
import type { Message } from "@recourse/server/RunTimeline"

export type Change = "same" | "gone" | "new"

export interface Changed<A> {
  readonly change: Change
  readonly value: A
}

/** Longer lists are compared at their beginning and their end only. */
const most = 400

/** The longest common sequence of two lists, as their difference. `keyOf` identifies values. */
export const differenceOf = <A>(
  before: ReadonlyArray<A>,
  after: ReadonlyArray<A>,
  keyOf: (value: A) => string
): ReadonlyArray<Changed<A>> => {
  const [left, right] = [before.map(keyOf), after.map(keyOf)]
  let start = 0
  while (start < left.length && start < right.length && left[start] === right[start]) start++
  let end = 0
  while (
    end < left.length - start && end < right.length - start &&
    left[left.length - 1 - end] === right[right.length - 1 - end]
  ) end++
  const [n, m] = [left.length - start - end, right.length - start - end]
  const middle: Array<Changed<A>> = []
  if (n > most || m > most) {
    for (let i = 0; i < n; i++) middle.push({ change: "gone", value: before[start + i]! })
    for (let j = 0; j < m; j++) middle.push({ change: "new", value: after[start + j]! })
  } else {
    const lengths = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1))
    for (let i = n - 1; i >= 0; i--) {
      for (let j = m - 1; j >= 0; j--) {
        lengths[i]![j] = left[start + i] === right[start + j]
          ? lengths[i + 1]![j + 1]! + 1
          : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!)
      }
    }
    for (let i = 0, j = 0; i < n || j < m;) {
      if (i < n && j < m && left[start + i] === right[start + j]) {
        middle.push({ change: "same", value: after[start + j]! })
        i++
        j++
      } else if (j === m || (i < n && lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) {
        middle.push({ change: "gone", value: before[start + i++]! })
      } else middle.push({ change: "new", value: after[start + j++]! })
    }
  }
  const same = (value: A): Changed<A> => ({ change: "same", value })
  return [...after.slice(0, start).map(same), ...middle, ...after.slice(after.length - end).map(same)]
}

/** A message as text: its parts, one a line and more. */
export const textOfMessage = ({ content }: Message): string =>
  typeof content === "string"
    ? content
    : (content as ReadonlyArray<Readonly<Record<string, unknown>>>).map((part) =>
      typeof part["text"] === "string" ? part["text"] : JSON.stringify(part, undefined, 2)
    ).join("\n")

/** A message that is gone followed by a new one of the same role is one that changed. */
export interface MessageChange {
  readonly role: string
  readonly change: Change | "changed"
  readonly lines: ReadonlyArray<Changed<string>>
}

const linesOf = (change: Change, message: Message): ReadonlyArray<Changed<string>> =>
  textOfMessage(message).split("\n").map((value) => ({ change, value }))

/** The difference of the messages of two requests, in order. */
export const messageChanges = (
  before: ReadonlyArray<Message>,
  after: ReadonlyArray<Message>
): ReadonlyArray<MessageChange> => {
  const changes = differenceOf(before, after, (message) => JSON.stringify(message))
  const found: Array<MessageChange> = []
  for (let index = 0; index < changes.length; index++) {
    const { change, value } = changes[index]!
    const next = changes[index + 1]
    if (change === "gone" && next?.change === "new" && next.value.role === value.role) {
      const lines = differenceOf(
        textOfMessage(value).split("\n"),
        textOfMessage(next.value).split("\n"),
        (line) => line
      )
      found.push({ role: value.role, change: "changed", lines })
      index++
    } else found.push({ role: value.role, change, lines: linesOf(change, value) })
  }
  return found
}
