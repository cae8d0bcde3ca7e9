/** Trials: the runs of one case, which the laws judge. */
import { Effect } from "effect"
import type { Subject } from "../../Subject.ts"
import * as Simulation from "../simulation/simulation.ts"
import type { Case } from "./basics.ts"
import type { Trial } from "./law.ts"

/** Words, so that no rule of redaction hides a leak. */
const secret = "words planted in an inner error"

/** The operation of a run for a random number: 1 is the first. */
export const operationOf = (drawn: number, { operations }: Simulation.Observation): number =>
  1 + (drawn - 1) % Math.max(1, operations)

/** Runs a case as it is and, for laws that judge it, once more, streamed, in another order, and interrupted. */
export const tryCase = <In, Out, E>(
  subject: Subject<In, Out, E>,
  { interruptAt, plan, scenario: name }: Case,
  { faultless, hasLaws }: { readonly faultless: Simulation.Observation; readonly hasLaws: boolean }
): Effect.Effect<Trial> =>
  Effect.gen(function*() {
    const scenario = subject.scenarios[name]!
    const plain = yield* Simulation.run(subject, scenario, { plan, secret })
    const common = { subject: subject as unknown as Trial["subject"], secret, faultless, plain }
    // A run without an end is a fault, and takes long enough once.
    if (!hasLaws || plain.stopped === "endless") {
      return { ...common, again: plain, streamed: plain, interrupted: plain, reordered: plain }
    }
    return {
      ...common,
      again: yield* Simulation.run(subject, scenario, { plan, secret }),
      streamed: yield* Simulation.run(subject, scenario, { plan, secret, streaming: true }),
      reordered: yield* Simulation.run(subject, scenario, { plan, secret, order: plan.seed }),
      interrupted: yield* Simulation.run(subject, scenario, {
        plan,
        secret,
        interruptAtOperation: operationOf(interruptAt, plain)
      })
    }
  })

/** Runs a scenario without faults that is interrupted at an operation. */
export const tryInterrupted = <In, Out, E>(
  subject: Subject<In, Out, E>,
  scenario: string,
  faultless: Simulation.Observation,
  interruptAtOperation: number
): Effect.Effect<Trial> =>
  Effect.map(
    Simulation.run(subject, subject.scenarios[scenario]!, { secret, interruptAtOperation }),
    (interrupted): Trial => ({
      subject: subject as unknown as Trial["subject"],
      secret,
      faultless,
      plain: faultless,
      again: faultless,
      streamed: faultless,
      reordered: faultless,
      interrupted
    })
  )

/** Some of the operations of a run, spread evenly over all. */
export const operationsOf = ({ operations }: Simulation.Observation, most: number): ReadonlyArray<number> => {
  const count = Math.min(operations, most)
  return Array.from({ length: count }, (_, nth) => 1 + Math.floor(nth * operations / count))
}
