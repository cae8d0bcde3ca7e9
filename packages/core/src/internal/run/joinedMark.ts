/** Mark of a message that joined a running run, among the options of the message. */
import * as Predicate from "effect/Predicate"

/** The run that a message joined, and its place in the inbox. */
export interface JoinedMark {
  readonly runId: string
  readonly messageId: string
  readonly position: number
}

/** Returns the mark in the options of a message, encoded or not. */
export const joinedMarkOf = (options: unknown): JoinedMark | undefined => {
  const recourse = Predicate.isObject(options) ? options["recourse"] : undefined
  const joined = Predicate.isObject(recourse) ? recourse["joined"] : undefined
  return Predicate.isObject(joined) ? joined as unknown as JoinedMark : undefined
}
