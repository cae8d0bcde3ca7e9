/** Whether a provider refused a request because it is longer than the model's context. */
import { isObject } from "effect/Predicate"
import type * as AiError from "effect/ai/AiError"

const isMarked = (metadata: unknown): boolean =>
  isObject(metadata) && Object.hasOwn(metadata, "kind") && metadata["kind"] === "context-length"

/**
 * Whether a provider refused a request because it is longer than the model's context: an `InvalidRequestError` whose metadata
 * has the `kind` `"context-length"`, as Recourse's providers write it. No text is examined.
 */
export const isContextLength = ({ reason }: AiError.AiError): boolean =>
  reason._tag === "InvalidRequestError" && Object.values(reason.metadata).some(isMarked)
