/** Redaction of recordings: each secret is replaced everywhere by one placeholder, so that a replay goes the same way. */
import { Context, Effect } from "effect"
import { Redaction, type Tool } from "@recourse/core"
import { textOf } from "../text/text.ts"
import { mapContent } from "./content.ts"
import { withHashes } from "./hashes.ts"
import { checksOf, fitsSuccess, type MakePlaceholder, placeholdersFor } from "./placeholders.ts"
import type { Recording } from "./recording.ts"
import { replacer } from "./replacing.ts"
import { secretsIn } from "./secrets.ts"
import { mapError } from "./storedErrors.ts"

/**
 * Redacted parts of a recording, and their replacements.
 *
 * @category options
 * @since 0.2.0
 */
export interface RedactOptions {
  /**
   * Names of secret fields: `"email"`, or `"customer.iban"` for an `iban` within a `customer`. Texts under these names
   * are redacted, with all inner texts.
   */
  readonly fields?: ReadonlyArray<string> | undefined
  /** Further rules of secrets. Default: `Redaction.secrets`. The rules of the program's own `Redaction` are added. */
  readonly rules?: ReadonlyArray<Redaction.Rule> | undefined
  /**
   * Makes placeholders, if the default ones do not fit: `[redacted: token 1]`, or a text of the same shape if a tool's
   * schema accepts only that.
   */
  readonly placeholder?: MakePlaceholder | undefined
}

type Outcome = Recording["executions"][number]["outcome"]

/** Texts that the run's own redactor has redacted are redacted here in the same way. */
const asShown = (
  recording: Recording,
  tools: ReadonlyArray<Tool.Any>,
  ambient: Redaction.Redactor,
  secrets: Redaction.Redactor
): Effect.Effect<Recording> => {
  const shown = (value: unknown) => Redaction.json(secrets, Redaction.json(ambient, value))
  const outcomeOf = (tool: string, outcome: Outcome): Effect.Effect<Outcome> => {
    switch (outcome._tag) {
      case "Failed":
        return Effect.succeed({ ...outcome, error: mapError(outcome.error, shown) })
      case "Died":
        return Effect.succeed({ ...outcome, defect: String(shown(outcome.defect)) })
      case "Value": {
        if (!ambient.results) return Effect.succeed(outcome)
        const value = Redaction.json(ambient, outcome.value)
        return Effect.map(fitsSuccess(tools, tool, value), (fits) => fits ? { ...outcome, value } : outcome)
      }
      default:
        return Effect.succeed(outcome)
    }
  }
  return Effect.map(
    Effect.forEach(
      recording.executions,
      (execution) => Effect.map(outcomeOf(execution.tool, execution.outcome), (outcome) => ({ ...execution, outcome }))
    ),
    (executions) => ({ ...recording, executions })
  )
}

/** True if the run depended on the length of a text: a conversation that was too long, or a result. */
const isMeasured = (recording: Recording, text: string): boolean =>
  text.includes("shown_characters") || recording.events.some(({ _tag }) => _tag === "ContextCompacted")

const ofEveryone = Context.get(Context.empty(), Redaction.Redaction)

/**
 * Redacts the secrets of a recording: each is replaced everywhere by one placeholder, so that a replay takes the same
 * way. `tools` are those of the agent and of its inner agents: placeholders fit their schemas. A recording without
 * secrets does not change, except for the ambient `Redaction` of executors' errors.
 *
 * **Example** (A log of events becomes a test)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Tool } from "@recourse/core"
 * import { Replay, ScriptedModel } from "@recourse/testing"
 *
 * const Read = Tool.make("read", {
 *   success: Schema.Struct({ iban: Schema.String }),
 *   effects: "read",
 *   execute: () => Effect.succeed({ iban: "DE02 1203 0000 0000 2020 51" })
 * })
 * const { recording } = await Effect.runPromise(
 *   Replay.record(Agent.make("reader", { tools: [Read] }), "Read", { tools: [Read], redact: false }).pipe(
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.call("read", {}), ScriptedModel.text("Done.")]))
 *   )
 * )
 *
 * const made = Replay.fromEvents(recording.events)
 * const shown = await Effect.runPromise(Replay.redact(made, { tools: [Read], fields: ["iban"] }))
 * shown.executions.map(({ outcome }) => outcome._tag === "Value" ? outcome.value : undefined) // => [{ iban: "[redacted: iban 1]" }]
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const redact = (
  recording: Recording,
  options: RedactOptions & { readonly tools: ReadonlyArray<Tool.Any> }
): Effect.Effect<Recording> =>
  Effect.gen(function*() {
    const { fields = [], placeholder, rules = Redaction.secrets, tools } = options
    const ambient = yield* Redaction.Redaction
    const secrets = secretsIn(recording, {
      fields,
      rules,
      // The default one knows more than secrets: paths, addresses, statements of SQL.
      redactor: ambient === ofEveryone ? undefined : ambient
    })
    const shown = yield* asShown(recording, tools, ambient, Redaction.make({ rules }))
    if (secrets.length === 0) return shown
    const text = textOf(recording)
    const measured = isMeasured(recording, text)
    const replacements = yield* placeholdersFor(secrets, {
      text,
      measured,
      checks: yield* checksOf(recording, tools),
      make: placeholder
    })
    return yield* withHashes(shown, mapContent(shown, replacer(replacements, { measured })))
  })
