/**
 * A guard that blocks pages that address their readers. A net with holes, in front of two walls: missed text is marked
 * as untrusted, and taints the run.
 */
import { Effect, Predicate } from "effect"
import { OutputGuard } from "@recourse/core"

const patterns = [
  /\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|prior|above|earlier)\b.{0,20}\b(?:instructions?|prompts?|rules)\b/iu,
  /\b(?:you are now|new instructions|system prompt)\b/iu,
  /<\/?(?:system|assistant|tool)>/iu
]

/** All texts in a value. */
const texts = (content: unknown): ReadonlyArray<string> =>
  typeof content === "string" ? [content] : Predicate.isObject(content) ? Object.values(content).flatMap(texts) : []

export const guard = OutputGuard.layer(({ content, trust }) =>
  trust === "untrusted" && texts(content).some((text) => patterns.some((pattern) => pattern.test(text)))
    ? Effect.fail(new OutputGuard.UnsafeOutput({ category: "instructions" }))
    : Effect.void
)
