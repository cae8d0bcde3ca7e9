/** Hashes of arguments, computed again if the arguments have changed. */
import { Effect } from "effect"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as Hex from "effect/encoding/Hex"
import type { Recording } from "./recording.ts"
import { jsonIn } from "./secrets.ts"
import { withFields } from "./texts.ts"

/** JSON with sorted keys. */
const canonical = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(canonical).join(",")}]`
    : typeof value === "object" && value !== null
    ? `{${
      Object.keys(value).toSorted().map((key) => `${JSON.stringify(key)}:${canonical(Reflect.get(value, key))}`).join(
        ","
      )
    }}`
    : JSON.stringify(value) ?? "null"

const sha256 = (text: string): Effect.Effect<string> =>
  Effect.flatMap(WebCrypto.WebCrypto, (crypto) =>
    Effect.map(
      Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
      (digest) => Hex.encode(new Uint8Array(digest))
    ))

interface Hashed {
  readonly arguments: unknown
  readonly argumentsHash: string
}

/** Values with arguments and their hash. */
const hashedIn = ({ events }: Recording): ReadonlyArray<Hashed> =>
  events.flatMap((event): ReadonlyArray<Hashed> =>
    event._tag === "ApprovalRequested"
      ? [{ arguments: jsonIn(event.arguments), argumentsHash: event.argumentsHash }]
      : "pending" in event && event.pending !== undefined
      ? event.pending
      : []
  )

/** The recording `after`, which has been made of `before` by changing arguments, with hashes of the new ones. */
export const withHashes = (before: Recording, after: Recording): Effect.Effect<Recording> =>
  Effect.gen(function*() {
    const hashes = new Map<string, string>()
    const old = hashedIn(before)
    for (const [index, { arguments: args, argumentsHash }] of hashedIn(after).entries()) {
      if (canonical(args) !== canonical(old[index]?.arguments)) {
        hashes.set(argumentsHash, yield* sha256(canonical(args)))
      }
    }
    const hashOf = <A extends object>(object: A): A =>
      withFields(object, (key, field) =>
        key === "argumentsHash"
          ? hashes.get(String(field)) ?? field
          : key === "pending" && Array.isArray(field)
          ? (field as ReadonlyArray<object>).map(hashOf)
          // The hash of a key, which may have been made of the arguments.
          : key === "entry"
          ? ""
          : field)
    return {
      ...after,
      events: after.events.map(hashOf),
      ...(after.pauses === undefined ? undefined : {
        pauses: after.pauses.map((pause) => ({ ...pause, decisions: pause.decisions.map(hashOf) }))
      })
    }
  })
