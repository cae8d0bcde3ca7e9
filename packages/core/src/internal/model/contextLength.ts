/** Detects that a provider refused a request because it exceeds the model's context. */
import { isObject } from "effect/Predicate"
import type * as AiError from "effect/ai/AiError"

const isMarked = (kind: string) => (metadata: unknown): boolean =>
  isObject(metadata) && Object.hasOwn(metadata, "kind") && metadata["kind"] === kind

/**
 * True if a provider refused a request because it exceeds the model's context: an `InvalidRequestError` whose metadata
 * has the `kind` `"context-length"`, written by Recourse's providers. No text is examined.
 *
 * @category predicates
 * @since 0.2.0
 */
export const isContextLength = ({ reason }: AiError.AiError): boolean =>
  reason._tag === "InvalidRequestError" && Object.values(reason.metadata).some(isMarked("context-length"))

/**
 * True if a provider refused a request with status 400 or 422 and no known code, or reported an error without any code in
 * place of an answer: the metadata has the `kind` `"unexplained"`. Most servers report an exceeded context so, in prose,
 * which is not examined.
 */
export const isUnexplained = ({ reason }: AiError.AiError): boolean =>
  "metadata" in reason && Object.values(reason.metadata).some(isMarked("unexplained"))
