/** Snapshot keys, and their rotation. */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ConfigurationError } from "../../ConfigurationError.ts"

/**
 * A key that signs, and earlier ones whose snapshots can still be resumed.
 *
 * @category models
 * @since 0.2.0
 */
export interface SnapshotKeys {
  /** Signs every new snapshot. */
  readonly current: Redacted.Redacted<string>
  /** Keys of before a rotation: they verify and do not sign. */
  readonly earlier: ReadonlyArray<Redacted.Redacted<string>>
}

/**
 * The key that snapshots are signed with, alone or with earlier ones. See `layerKey`.
 *
 * @category services
 * @since 0.2.0
 */
export class SnapshotKey extends Context.Service<SnapshotKey, Redacted.Redacted<string> | SnapshotKeys>()(
  "@recourse/core/Approval/SnapshotKey"
) {}

/** The keys of a service, the current one first. */
export const keysOf = (
  service: SnapshotKey["Service"]
): readonly [current: Redacted.Redacted<string>, ...earlier: ReadonlyArray<Redacted.Redacted<string>>] =>
  "current" in service ? [service.current, ...service.earlier] : [service]

/**
 * The key as a layer. Each key has at least 32 bytes, as RFC 2104 requires with SHA-256; throws `ConfigurationError`
 * for less.
 *
 * To rotate keys, give the new key and list the old one under `earlier`: snapshots of the old key can be resumed, and
 * whatever waits on is signed with the new one. Drop the old key once no snapshot of it is to be resumed. A key that became
 * known to others is not rotated but dropped at once.
 *
 * **Example** (A new key, and the one of before)
 *
 * ```ts
 * import { Redacted } from "effect"
 * import { Approval } from "@recourse/core"
 *
 * const keys = Approval.layerKey(Redacted.make("the key of this year: 32 bytes or more"), {
 *   earlier: [Redacted.make("the key of last year: 32 bytes or more")]
 * })
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerKey = (
  key: Redacted.Redacted<string>,
  options?: { readonly earlier?: ReadonlyArray<Redacted.Redacted<string>> | undefined }
): Layer.Layer<SnapshotKey> => {
  const earlier = options?.earlier ?? []
  if (![key, ...earlier].every(Redacted.isRedacted)) {
    throw new ConfigurationError({ subject: "Approval.layerKey", problem: "a key is not wrapped: Redacted.make(key)" })
  }
  if ([key, ...earlier].some((one) => new TextEncoder().encode(Redacted.value(one)).length < 32)) {
    throw new ConfigurationError({ subject: "Approval.layerKey", problem: "a key must have at least 32 bytes" })
  }
  return Layer.succeed(SnapshotKey, { current: key, earlier })
}
