/** Defects beside failures: a cause that holds both is one of defects, as where effect puts causes together. */
import * as Cause from "effect/Cause"

/**
 * A cause whose failures are defects where one of them is, or is one of those that no type tells of. No operator recovers from a cause that
 * holds a defect; if it held a failure as well, whoever reads the first failure would take it for one that can be recovered from.
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
