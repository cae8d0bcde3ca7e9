/** Reads a secret of the program, which is often an environment variable that is not set. */
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/** The text of a secret. Dies with `ConfigurationError` if it is unset or empty. */
export const secretOf = (subject: string, name: string, secret: Redacted.Redacted<string>): Effect.Effect<string> =>
  Effect.suspend(() => {
    const text: unknown = Redacted.isRedacted(secret) ? Redacted.value(secret) : undefined
    return typeof text === "string" && text.trim() !== ""
      ? Effect.succeed(text)
      : Effect.die(
        new ConfigurationError({
          subject,
          problem: `${name} is unset or empty. Set its environment variable, or read it with Config.Redacted`
        })
      )
  })
