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

/** What is taken out of a recording, and what takes its place. */
export interface RedactOptions {
  /**
   * Names of what is secret whatever it looks like: `"email"`, or `"customer.iban"` for an `iban` within a `customer`. Texts under
   * these names go, with all texts within.
   */
  readonly fields?: ReadonlyArray<string> | undefined
  /** What else is secret. Default: `Redaction.secrets`. The rules of the program's own `Redaction` come on top. */
  readonly rules?: ReadonlyArray<Redaction.Rule> | undefined
  /**
   * Makes placeholders, where those by default do not do: `[redacted: token 1]`, or a text of the same shape where a tool's
   * schema takes only that.
   */
  readonly placeholder?: MakePlaceholder | undefined
}

type Outcome = Recording["executions"][number]["outcome"]

/** What the run's own redactor has taken out of what it showed is taken out here in the same way. */
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

/** Whether something in the run went by the length of a text: a conversation that was too long, or a result. */
const isMeasured = (recording: Recording, text: string): boolean =>
  text.includes("shown_characters") || recording.events.some(({ _tag }) => _tag === "ContextCompacted")

const ofEveryone = Context.get(Context.empty(), Redaction.Redaction)

/**
 * Takes the secrets out of a recording: each is replaced everywhere by one placeholder, so that a replay goes the same way.
 * `tools` are the agent's and those of the agents in it: placeholders fit their schemas. A recording without secrets stays as it is,
 * but for what the ambient `Redaction` takes out of executors' errors.
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
