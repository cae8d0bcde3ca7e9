/** Store of effect's `CircuitBreaker` over circuits in a store of entries. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { admit, type Admitted, type Circuit, record } from "./circuit.ts"
import { CircuitEntries, type Entries, type Read } from "./circuitEntries.ts"

/** Options of stored circuits. */
export interface Options {
  readonly probeLease: Duration.Duration
  readonly idleTimeToLive: Duration.Duration
}

type Recorded = Parameters<typeof CircuitBreaker.CircuitBreakerStore.Service["record"]>[0]

/** A store of circuits. */
export const circuitsOf = <E>(
  entries: Entries<E>,
  { idleTimeToLive, probeLease }: Options
): typeof CircuitBreaker.CircuitBreakerStore.Service => {
  const circuits = new CircuitEntries(entries, idleTimeToLive)
  const probeMillis = Duration.toMillis(probeLease)

  /** Holds the place of the call that tries, for as long as it takes: until it is another's. */
  const renewing = (key: string, generation: number): Effect.Effect<void> =>
    Effect.flatMap(
      Effect.delay(
        Effect.orElseSucceed(
          circuits.change(key, (circuit, now) => {
            const isProbing = circuit?.state === "HalfOpen" && circuit.generation === generation
            return [isProbing ? { ...circuit, probeUntil: now + probeMillis } : undefined, isProbing]
          }),
          // It is tried again while the lease is not over.
          () => true
        ),
        probeMillis / 3
      ),
      (isProbing) => isProbing ? renewing(key, generation) : Effect.void
    )

  return {
    admit: Effect.fnUntraced(function*(key) {
      const [admitted, before] = yield* circuits.change(key, (circuit, now) => {
        const admitted = admit(circuit, now, probeMillis)
        return [admitted._tag === "Admitted" ? admitted.circuit : undefined, [admitted, circuit] as const]
      })
      if (admitted._tag !== "Admitted") {
        return yield* new CircuitBreaker.CircuitBreakerError({ reason: refusal(key, admitted) })
      }
      const { circuit: { generation, openings }, hasMoved, isProbe } = admitted
      if (isProbe) yield* Effect.forkScoped(Effect.interruptible(renewing(key, generation)))
      return {
        generation,
        probe: isProbe,
        consecutiveOpenings: openings,
        transition: hasMoved && before !== undefined ? { key, from: "Open", to: "HalfOpen" } : undefined
      }
    }),
    record: (recorded) => circuits.change(recorded.key, (circuit, now) => recordedIn(circuit, now, recorded)),
    state: (key) => Effect.map(circuits.read(key), (read) => stateOf(key, read))
  }
}

/** The circuit after an outcome, and the transition that the outcome causes. */
const recordedIn = (
  circuit: Circuit | undefined,
  now: number,
  { key, openFor, ...ended }: Recorded
): readonly [Circuit | undefined, CircuitBreaker.Transition | undefined] => {
  if (circuit === undefined) return [undefined, undefined]
  const openForMillis = Math.ceil(Duration.toMillis(openFor))
  const after = record(circuit, now, { ...ended, openForMillis })
  if (after.state === circuit.state || circuit.state === "Open") return [after, undefined]
  const transition: CircuitBreaker.Transition = after.state === "Open"
    ? { key, from: circuit.state, to: "Open", retryAfter: openFor, consecutiveOpenings: after.openings }
    : { key, from: "HalfOpen", to: "Closed" }
  return [after, transition]
}

const stateOf = (key: string, { circuit, now }: Read): CircuitBreaker.State => {
  if (circuit === undefined || circuit.state === "Closed") return { _tag: "Closed", key }
  const consecutiveOpenings = circuit.openings
  return circuit.state === "HalfOpen"
    ? { _tag: "HalfOpen", key, probing: circuit.probeUntil > now, consecutiveOpenings }
    : {
      _tag: "Open",
      key,
      retryAfter: Duration.millis(Math.max(0, circuit.openUntil - now)),
      consecutiveOpenings
    }
}

const refusal = (
  key: string,
  refused: Exclude<Admitted, { readonly _tag: "Admitted" }>
): CircuitBreaker.CircuitOpen | CircuitBreaker.CircuitHalfOpen =>
  refused._tag === "Open"
    ? new CircuitBreaker.CircuitOpen({ key, retryAfter: Duration.millis(refused.forMillis) })
    : new CircuitBreaker.CircuitHalfOpen({ key })
