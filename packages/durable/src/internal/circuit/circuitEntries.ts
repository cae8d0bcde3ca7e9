/** Circuits as entries of a store in which each is read, and exchanged for its changed value. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import { Circuit } from "./circuit.ts"

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

/** Number of tries for a change whose circuit another process changes at the same moment. */
const tries = 30

const encode = Schema.encodeSync(Schema.fromJsonString(Circuit))
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Circuit))

const unavailable = (message: string, cause?: unknown): CircuitBreaker.CircuitBreakerError =>
  new CircuitBreaker.CircuitBreakerError({
    reason: new CircuitBreaker.CircuitBreakerStoreError({ message, ...(cause === undefined ? undefined : { cause }) })
  })

/** A circuit, and the time at which it was read. */
export interface Read {
  readonly circuit: Circuit | undefined
  readonly now: number
}

/** The circuits of a store. */
export class CircuitEntries<E> {
  private readonly entries: Entries<E>
  private readonly idle: number

  /** An unused circuit is forgotten after `idleTimeToLive`. */
  constructor(entries: Entries<E>, idleTimeToLive: Duration.Duration) {
    this.entries = entries
    this.idle = Duration.toMillis(idleTimeToLive)
  }

  read(key: string): Effect.Effect<Read, CircuitBreaker.CircuitBreakerError> {
    return Effect.map(this.entry(key), (entry) => ({ circuit: circuitOf(entry), now: entry.now }))
  }

  /** Changes a circuit by its present value. An unchanged circuit is not written, unless it would soon expire. */
  change<A>(
    key: string,
    change: (circuit: Circuit | undefined, now: number) => readonly [circuit: Circuit | undefined, answer: A],
    turn = 1
  ): Effect.Effect<A, CircuitBreaker.CircuitBreakerError> {
    return Effect.flatMap(this.entry(key), (entry) => {
      const [circuit, answer] = change(circuitOf(entry), entry.now)
      if (circuit === undefined) return Effect.succeed(answer)
      const text = encode(circuit)
      if (text === entry.text && entry.forgetAt > entry.now + this.idle / 2) return Effect.succeed(answer)
      return Effect.flatMap(
        Effect.mapError(
          this.entries.swap(key, entry.text, text, this.forgetAt(circuit, entry.now)),
          (cause) => unavailable("A circuit could not be written", cause)
        ),
        (isChanged): Effect.Effect<A, CircuitBreaker.CircuitBreakerError> => {
          if (isChanged) return Effect.succeed(answer)
          if (turn >= tries) return Effect.fail(unavailable("A circuit is changed by too many at once"))
          return Effect.andThen(
            Effect.flatMap(Random.next, (random) => Effect.sleep(random * 2 * turn)),
            this.change(key, change, turn + 1)
          )
        }
      )
    })
  }

  private entry(key: string): Effect.Effect<Entry, CircuitBreaker.CircuitBreakerError> {
    return Effect.mapError(this.entries.read(key), (cause) => unavailable("A circuit could not be read", cause))
  }

  private forgetAt(circuit: Circuit, now: number): number {
    return Math.max(now, circuit.state === "Open" ? circuit.openUntil : circuit.probeUntil) + this.idle
  }
}

/** An undecodable circuit is from another version, and starts again. */
const circuitOf = ({ forgetAt, now, text }: Entry): Circuit | undefined => {
  if (text === undefined || forgetAt <= now) return undefined
  const found = decode(text)
  return found._tag === "Some" ? found.value : undefined
}
