/** Reads texts that a server needs to start, which are often environment variables that are not set. */
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/** A text. Dies with `ConfigurationError` if it is unset or empty. */
export const textOf = (subject: string, name: string, text: unknown, config = "String"): Effect.Effect<string> =>
  Effect.suspend(() =>
    typeof text === "string" && text.trim() !== ""
      ? Effect.succeed(text)
      : Effect.die(
        new ConfigurationError({
          subject,
          problem: `${name} is unset or empty. Set its environment variable, or read it with Config.${config}`
        })
      )
  )

/** The text of a secret. Dies with `ConfigurationError` if it is unset or empty. */
export const secretOf = (subject: string, name: string, secret: Redacted.Redacted<string>): Effect.Effect<string> =>
  Effect.suspend(() =>
    textOf(subject, name, Redacted.isRedacted(secret) ? Redacted.value(secret) : undefined, "Redacted")
  )
