/**
 * A circuit as a value: its changes by an admitted call and by a recorded outcome. The rules are those of effect's own
 * stores.
 */
import type * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as Schema from "effect/Schema"

/** A circuit. Times are milliseconds since the epoch, by the clock of whatever keeps it. */
export const Circuit = Schema.Struct({
  state: Schema.Literals(["Closed", "Open", "HalfOpen"]),
  /** Grows with each change of the state and each probe: an outcome of an older one has no effect. */
  generation: Schema.Finite,
  /** Failures in a row. */
  streak: Schema.Finite,
  /** The last outcomes, if the policy counts them: `1` is a failure. */
  ring: Schema.String,
  openUntil: Schema.Finite,
  openings: Schema.Finite,
  lastOpenFor: Schema.Finite,
  /** When a circuit that has closed forgets how often it was open. */
  resetAt: Schema.Finite,
  /** Until when another call tries whether the service is back. */
  probeUntil: Schema.Finite
})
export type Circuit = typeof Circuit.Type

/** No generation is used twice, also if a circuit was deleted in between. */
const nextGeneration = (circuit: Circuit | undefined, now: number): number =>
  Math.max((circuit?.generation ?? 0) + 1, now * 1000)

/** Decision about a call that requests admission. */
export type Admitted =
  | { readonly _tag: "Admitted"; readonly circuit: Circuit; readonly isProbe: boolean; readonly hasMoved: boolean }
  | { readonly _tag: "Open"; readonly forMillis: number }
  | { readonly _tag: "HalfOpen" }

export const admit = (circuit: Circuit | undefined, now: number, probeMillis: number): Admitted => {
  if (circuit === undefined) {
    return {
      _tag: "Admitted",
      isProbe: false,
      hasMoved: false,
      circuit: {
        state: "Closed",
        generation: nextGeneration(undefined, now),
        streak: 0,
        ring: "",
        openUntil: 0,
        openings: 0,
        lastOpenFor: 0,
        resetAt: 0,
        probeUntil: 0
      }
    }
  }
  if (circuit.state === "Closed") {
    const openings = now >= circuit.resetAt ? 0 : circuit.openings
    return { _tag: "Admitted", isProbe: false, hasMoved: false, circuit: { ...circuit, openings } }
  }
  if (circuit.state === "Open" && now < circuit.openUntil) {
    return { _tag: "Open", forMillis: circuit.openUntil - now }
  }
  if (circuit.state === "HalfOpen" && now < circuit.probeUntil) return { _tag: "HalfOpen" }
  return {
    _tag: "Admitted",
    isProbe: true,
    hasMoved: circuit.state === "Open",
    circuit: {
      ...circuit,
      state: "HalfOpen",
      generation: nextGeneration(circuit, now),
      probeUntil: now + probeMillis
    }
  }
}

const failures = (ring: string): number => ring.split("1").length - 1

/** An outcome of a call that was let through. */
export interface Ended {
  readonly generation: number
  readonly outcome: CircuitBreaker.Outcome["_tag"]
  readonly tripPolicy: CircuitBreaker.TripPolicy
  readonly openForMillis: number
}

/** Returns the circuit after the outcome of a call; the same one if it does not change. */
export const record = (
  circuit: Circuit,
  now: number,
  { generation, openForMillis, outcome, tripPolicy }: Ended
): Circuit => {
  if (circuit.generation !== generation || circuit.state === "Open") return circuit
  const next = { ...circuit, generation: nextGeneration(circuit, now), streak: 0, ring: "", probeUntil: 0 }
  const opened = (): Circuit => ({
    ...next,
    state: "Open",
    openUntil: now + openForMillis,
    lastOpenFor: openForMillis,
    openings: circuit.openings + 1
  })
  if (circuit.state === "HalfOpen") {
    // A new generation: a renewal that is on its way does not hold the place again.
    if (outcome === "Ignored") return { ...next, streak: circuit.streak, ring: circuit.ring }
    return outcome === "Failure" ? opened() : { ...next, state: "Closed", resetAt: now + circuit.lastOpenFor }
  }
  if (outcome === "Ignored") return circuit
  const streak = outcome === "Failure" ? circuit.streak + 1 : 0
  if (tripPolicy._tag === "Consecutive") {
    return streak >= tripPolicy.failures ? opened() : { ...circuit, streak }
  }
  const ring = (circuit.ring + (outcome === "Failure" ? "1" : "0")).slice(-tripPolicy.size)
  const failed = failures(ring)
  const trips = ring.length >= tripPolicy.minimumCalls && failed > 0 && failed / ring.length >= tripPolicy.threshold
  return trips ? opened() : { ...circuit, streak, ring }
}
