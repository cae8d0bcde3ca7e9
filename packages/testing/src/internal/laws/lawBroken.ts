/** Error of a broken law, with the smallest plan that breaks it and the text that replays it. */
import { Schema } from "effect"
import * as FaultPlan from "../../FaultPlan.ts"
import { render } from "../simulation/timeline.ts"
import type { Case } from "./basics.ts"
import type { Trial, Violation } from "./law.ts"
import { sentences } from "./sentences.ts"
import { operationOf } from "./trials.ts"

/**
 * A law does not hold.
 *
 * @category errors
 * @since 0.2.0
 */
export class LawBroken extends Schema.TaggedError<LawBroken>()("LawBroken", {
  law: Schema.String,
  problem: Schema.String,
  /** The smallest plan that was found to break it. */
  plan: FaultPlan.FaultPlan,
  scenario: Schema.String,
  /** The operation before which the run was interrupted, if the interrupted run breaks the law. */
  interruptAt: Schema.optionalKey(Schema.Int),
  timeline: Schema.String,
  replay: Schema.String
}) {
  override get message(): string {
    return [
      `Law ${this.law} does not hold: ${this.problem}`,
      ...(Object.hasOwn(sentences, this.law) ? [sentences[this.law]!] : []),
      "",
      `Plan (scenario ${this.scenario}${
        this.interruptAt === undefined ? "" : `, interrupted at operation ${this.interruptAt}`
      }):`,
      FaultPlan.print(this.plan),
      "",
      "Timeline:",
      this.timeline,
      "",
      `Replay: ${this.replay}`
    ].join("\n")
  }
}

const CaseJson = Schema.fromJsonString(
  Schema.Struct({ plan: FaultPlan.FaultPlan, scenario: Schema.String, interruptAt: Schema.Int })
)

/** Decodes the value of `LawBroken.replay`. */
export const decodeCase = Schema.decodeEffect(CaseJson)
const encodeCase = Schema.encodeSync(CaseJson)

/** Makes the error of a case that breaks a law in one of its runs. */
export const lawBroken = (
  { interruptAt: drawn, plan, scenario }: Case,
  trial: Trial,
  { law, problem, run }: Violation & { readonly law: string }
) => {
  const interruptAt = operationOf(drawn, trial.plain)
  return new LawBroken({
    law,
    problem: `${problem} (${run} run)`,
    plan,
    scenario,
    ...(run === "interrupted" ? { interruptAt } : undefined),
    timeline: render(trial[run]),
    replay: encodeCase({ interruptAt, plan, scenario })
  })
}
