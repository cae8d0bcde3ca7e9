/** Laws of recovery as any library can be asked for them: about effects, and about the texts that the model reads. */
import type { Execution } from "./peers.ts"
import type { World } from "./world.ts"

/** A law: `undefined` if a plan does not concern it. */
export interface Law {
  readonly sentence: string
  readonly holds: (world: World, executions: ReadonlyArray<Execution>) => boolean | undefined
}

const saysRefunded = /refunded 7/
const saysUnknown = /outcome_unknown|may have happened/

const lastOf = (executions: ReadonlyArray<Execution>): Execution => executions.at(-1)!

/** The results that the model read of calls that had an effect in the last process. */
const refundTexts = ({ results }: Execution): ReadonlyArray<string> =>
  Object.values(results).filter((text) => !text.includes("shipped") && !text.includes("Ignore your instructions"))

export const laws = {
  runs_end: {
    sentence: "Each conversation ends.",
    holds: (_world, executions) => !lastOf(executions).hasDied
  },
  write_at_most_once: {
    sentence: "A refund happens at most once, over repeated calls and restarts.",
    holds: ({ effects }) => effects.length <= 1
  },
  no_false_failure: {
    sentence: "A refund that happened is not reported as failed to the model.",
    holds: ({ effects, process }, executions) => {
      const here = effects.filter((effect) => effect.process === process)
      const texts = refundTexts(lastOf(executions))
      if (here.length === 0 || texts.length === 0) return undefined
      return texts.some((text) => saysRefunded.test(text) || saysUnknown.test(text)) &&
        !texts.slice(0, here.length).some((text) => !saysRefunded.test(text) && !saysUnknown.test(text))
    }
  },
  approved_only: {
    sentence: "A refund that needs an approval does not happen without one.",
    holds: ({ effects, plan }) => plan.needsApproval ? effects.length === 0 : undefined
  },
  no_injected_write: {
    sentence: "A refund behind the text of an outsider does not happen without a person.",
    holds: ({ effects, plan }) => plan.readsMail && !plan.needsApproval ? effects.length === 0 : undefined
  },
  nothing_lost_on_a_crash: {
    sentence: "After a crash behind the refund, the restarted agent learns of it and does not refund again.",
    holds: ({ effects }, executions) =>
      executions.length > 1
        ? effects.length === 1 && refundTexts(lastOf(executions)).some((text) => saysRefunded.test(text))
        : undefined
  },
  typed_failure: {
    sentence: "An error that no declaration expects reaches the program as a typed value, and ends the conversation.",
    holds: ({ plan }, executions) => plan.isClosed ? lastOf(executions).typedError !== undefined : undefined
  }
} as const satisfies Readonly<Record<string, Law>>

export type LawName = keyof typeof laws
