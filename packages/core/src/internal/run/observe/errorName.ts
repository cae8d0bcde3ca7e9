/**
 * Error names in events and spans: the tag, redacted and cut. A tag may come from outside (a failure that was read from
 * JSON, a status line).
 */
import * as Cause from "effect/Cause"
import type { Redactor } from "../../../Redaction.ts"
import { cutText } from "../../foundation/json/jsonShape.ts"
import { tagOf } from "../../foundation/errorTags.ts"

const maxTag = 128
const maxLength = 1_000

/** Tags are few and emitted often: their redacted forms are cached. */
const cache = new WeakMap<Redactor, Map<string, string>>()

const shownTag = (tag: string, redactor: Redactor): string => {
  let tags = cache.get(redactor)
  if (tags === undefined) cache.set(redactor, tags = new Map())
  let shown = tags.get(tag)
  if (shown === undefined) {
    shown = cutText(redactor.text(tag), maxTag)
    if (tag.length <= maxTag && tags.size < maxLength) tags.set(tag, shown)
  }
  return shown
}

/** Returns the tag of an error, in a form for events and spans; `undefined` without one. */
export const errorTag = (error: unknown, redactor: Redactor): string | undefined => {
  const tag = tagOf(error)
  return tag === undefined ? undefined : shownTag(tag, redactor)
}

/** Returns the name of a cause's error. */
export const errorName = (cause: Cause.Cause<unknown>, redactor: Redactor): string => {
  const fail = cause.reasons.find(Cause.isFailReason)
  if (fail === undefined) return Cause.hasInterruptsOnly(cause) ? "Interrupted" : "Defect"
  return errorTag(fail.error, redactor) ?? "Error"
}
