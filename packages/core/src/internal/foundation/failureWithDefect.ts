/** Failures with defects: a cause with both counts as one of defects, like a cause that effect combines. */
import * as Cause from "effect/Cause"

/**
 * Returns a cause whose failures are defects if one of them is, or is one without a type. No operator recovers from a
 * cause with a defect. A cause with a failure as well would look recoverable to a reader of the first failure.
 */
export const withDefects = <E>(
  cause: Cause.Cause<E>,
  isDefect: (error: E) => boolean = () => false
): Cause.Cause<E> => {
  const { reasons } = cause
  return reasons.some((reason) => Cause.isDieReason(reason) || (Cause.isFailReason(reason) && isDefect(reason.error)))
    ? Cause.fromReasons(reasons.map((reason) =>
      Cause.isFailReason(reason)
        ? Cause.makeDieReason(reason.error).annotate(Cause.reasonAnnotations(reason))
        : reason
    ))
    : cause
}
