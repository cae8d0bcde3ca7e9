/** Circuits of effect's `CircuitBreaker` in a store in which each is read, and exchanged for its changed value. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import { admit, type Admitted, Circuit, record } from "./circuit.ts"

/** The value of a key, and the time by the store's clock. */
export interface Entry {
  readonly now: number
  readonly text: string | undefined
  /** When it is forgotten. */
  readonly forgetAt: number
}

/** Store of circuits, as texts. */
export interface Entries<E> {
  readonly read: (key: string) => Effect.Effect<Entry, E>
  /** Exchanges a text, if it is still there. */
  readonly swap: (
    key: string,
    before: string | undefined,
    after: string,
    forgetAt: number
  ) => Effect.Effect<boolean, E>
}

/** Options of stored circuits. */
export interface Options {
  readonly probeLease: Duration.Duration
  readonly idleTimeToLive: Duration.Duration
}

/** Number of tries for a change whose circuit another process changes at the same moment. */
const tries = 30

const encode = Schema.encodeSync(Schema.fromJsonString(Circuit))
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Circuit))

const unavailable = (message: string, cause?: unknown): CircuitBreaker.CircuitBreakerError =>
  new CircuitBreaker.CircuitBreakerError({
    reason: new CircuitBreaker.CircuitBreakerStoreError({ message, ...(cause === undefined ? undefined : { cause }) })
  })

/** A store of circuits. */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its tables and its clock
export const circuitsOf = <E>(
  entries: Entries<E>,
  { idleTimeToLive, probeLease }: Options
): typeof CircuitBreaker.CircuitBreakerStore.Service => {
  const idle = Duration.toMillis(idleTimeToLive)
  const probeMillis = Duration.toMillis(probeLease)
  // An undecodable circuit is from another version, and starts again.
  const circuitOf = ({ forgetAt, now, text }: Entry): Circuit | undefined => {
    if (text === undefined || forgetAt <= now) return undefined
    const found = decode(text)
    return found._tag === "Some" ? found.value : undefined
  }
  const forgetAt = (circuit: Circuit, now: number): number =>
    Math.max(now, circuit.state === "Open" ? circuit.openUntil : circuit.probeUntil) + idle

  /** Changes a circuit by its present value. An unchanged circuit is not written, unless it would soon expire. */
  const changed = <A>(
    key: string,
    change: (circuit: Circuit | undefined, now: number) => readonly [circuit: Circuit | undefined, answer: A],
    turn = 1
  ): Effect.Effect<A, CircuitBreaker.CircuitBreakerError> =>
    Effect.flatMap(
      Effect.mapError(entries.read(key), (cause) => unavailable("A circuit could not be read", cause)),
      (entry) => {
        const [circuit, answer] = change(circuitOf(entry), entry.now)
        if (circuit === undefined) return Effect.succeed(answer)
        const text = encode(circuit)
        if (text === entry.text && entry.forgetAt > entry.now + idle / 2) return Effect.succeed(answer)
        return Effect.flatMap(
          Effect.mapError(
            entries.swap(key, entry.text, text, forgetAt(circuit, entry.now)),
            (cause) => unavailable("A circuit could not be written", cause)
          ),
          (isChanged): Effect.Effect<A, CircuitBreaker.CircuitBreakerError> => {
            if (isChanged) return Effect.succeed(answer)
            if (turn >= tries) return Effect.fail(unavailable("A circuit is changed by too many at once"))
            return Effect.andThen(
              Effect.flatMap(Random.next, (random) => Effect.sleep(random * 2 * turn)),
              changed(key, change, turn + 1)
            )
          }
        )
      }
    )

  /** Holds the place of the call that tries, for as long as it takes: until it is another's. */
  const renewing = (key: string, generation: number): Effect.Effect<void> =>
    Effect.flatMap(
      Effect.delay(
        Effect.orElseSucceed(
          changed(key, (circuit, now) => {
            const isHeld = circuit?.state === "HalfOpen" && circuit.generation === generation
            return [isHeld ? { ...circuit, probeUntil: now + probeMillis } : undefined, isHeld]
          }),
          // It is tried again while the lease is not over.
          () => true
        ),
        probeMillis / 3
      ),
      (isHeld) => isHeld ? renewing(key, generation) : Effect.void
    )

  return {
    admit: Effect.fnUntraced(function*(key) {
      const [admitted, before] = yield* changed(key, (circuit, now) => {
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
    record: ({ key, openFor, ...ended }) =>
      changed(key, (circuit, now): readonly [Circuit | undefined, CircuitBreaker.Transition | undefined] => {
        if (circuit === undefined) return [undefined, undefined]
        const openForMillis = Math.ceil(Duration.toMillis(openFor))
        const after = record(circuit, now, { ...ended, openForMillis })
        if (after.state === circuit.state || circuit.state === "Open") return [after, undefined]
        const transition: CircuitBreaker.Transition = after.state === "Open"
          ? { key, from: circuit.state, to: "Open", retryAfter: openFor, consecutiveOpenings: after.openings }
          : { key, from: "HalfOpen", to: "Closed" }
        return [after, transition]
      }),
    state: (key) =>
      Effect.map(
        Effect.mapError(entries.read(key), (cause) => unavailable("A circuit could not be read", cause)),
        (entry): CircuitBreaker.State => {
          const circuit = circuitOf(entry)
          if (circuit === undefined || circuit.state === "Closed") return { _tag: "Closed", key }
          const consecutiveOpenings = circuit.openings
          return circuit.state === "HalfOpen"
            ? { _tag: "HalfOpen", key, probing: circuit.probeUntil > entry.now, consecutiveOpenings }
            : {
              _tag: "Open",
              key,
              retryAfter: Duration.millis(Math.max(0, circuit.openUntil - entry.now)),
              consecutiveOpenings
            }
        }
      )
  }
}

const refusal = (
  key: string,
  refused: Exclude<Admitted, { readonly _tag: "Admitted" }>
): CircuitBreaker.CircuitOpen | CircuitBreaker.CircuitHalfOpen =>
  refused._tag === "Open"
    ? new CircuitBreaker.CircuitOpen({ key, retryAfter: Duration.millis(refused.forMillis) })
    : new CircuitBreaker.CircuitHalfOpen({ key })
