/** Shutdown: work that needs open connections when the server closes. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

type Closing = (within: Duration.Duration) => Effect.Effect<void>

/** Components that close before the connections do. */
export class Shutdown {
  private readonly closings = new Set<Closing>()

  /** Adds something that closes, until the scope is closed. */
  add(closing: Closing): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => void this.closings.add(closing)),
      () => Effect.sync(() => void this.closings.delete(closing))
    )
  }

  /** Closes everything, side by side. */
  end(within: Duration.Duration): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach([...this.closings], (closing) => closing(within), { concurrency: "unbounded", discard: true })
    )
  }
}

/** The shutdown that servers are part of, if one is configured. */
export const CurrentShutdown: Context.Reference<Shutdown | undefined> = Context.Reference<Shutdown | undefined>(
  "@recourse/server/Shutdown",
  { defaultValue: () => undefined }
)
