/** The occurrences of a fault, by the options of an injection. */
import { OptionCheck } from "@recourse/core"

interface Occurrences {
  readonly from?: number | undefined
  readonly times?: number | undefined
  readonly probability?: number | undefined
}

const kinds: Readonly<Record<keyof Occurrences, OptionCheck.Kind>> = {
  from: OptionCheck.aPositiveCount,
  times: OptionCheck.aPositiveCount,
  probability: OptionCheck.aShare
}

/** Returns the fields of an injection. Throws `ConfigurationError` for an option that it does not have. */
export const at = (options: Occurrences = {}) => {
  OptionCheck.checkOptions("FaultPlan", options, { kinds, otherNames: {} })
  const { from = 1, probability, times = 1 } = options
  return { from, times, ...(probability === undefined ? undefined : { probability }) }
}
