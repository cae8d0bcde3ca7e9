/** Placeholders: replacements of secrets in a recording. */
import { Effect, Exit, Schema } from "effect"
import type { Tool } from "@recourse/core"
import type { Recording } from "./recording.ts"
import { type Replacement, replacer } from "./replacing.ts"
import { jsonIn, type Secret } from "./secrets.ts"

/**
 * Makes the placeholder of a secret. Equal secrets have equal numbers, from 1 for each kind. `undefined`: the default
 * one.
 *
 * @category models
 * @since 0.2.0
 */
export type MakePlaceholder = (
  secret: { readonly kind: string; readonly value: string; readonly number: number }
) => string | undefined

/** A value that a tool is given or answers, and its schema. */
interface Check {
  readonly value: unknown
  readonly fits: (value: unknown) => Effect.Effect<boolean>
}

const fitsIn = (schema: Schema.Top) => {
  const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(schema)) as (
    value: unknown
  ) => Effect.Effect<unknown, Schema.SchemaError>
  return (value: unknown) => Effect.map(Effect.exit(decode(value)), Exit.isSuccess)
}

/** True if a tool may have answered a value. True for an unknown tool. */
export const fitsSuccess = (
  tools: ReadonlyArray<Tool.Any>,
  name: string,
  value: unknown
): Effect.Effect<boolean> => {
  const tool = tools.find((tool) => tool.name === name)
  return tool === undefined ? Effect.succeed(true) : fitsIn(tool.success)(value)
}

/** Arguments and results of tools, if they fit their schemas. */
export const checksOf = (
  { events, executions, pauses = [] }: Recording,
  tools: ReadonlyArray<Tool.Any>
): Effect.Effect<ReadonlyArray<Check>> => {
  const toolOf = (name: string | undefined) => tools.find((tool) => tool.name === name)
  const given = (name: string, args: string): ReadonlyArray<Check> => {
    const tool = toolOf(name)
    return tool === undefined ? [] : [{ value: jsonIn(args), fits: fitsIn(tool.parameters) }]
  }
  const answered = (name: string | undefined, value: unknown): ReadonlyArray<Check> => {
    const tool = toolOf(name)
    return tool === undefined || value === undefined ? [] : [{ value, fits: fitsIn(tool.success) }]
  }
  const waiting = new Map(
    events.flatMap((event) => event._tag === "ApprovalRequested" ? [[event.pendingCallId, event.tool] as const] : [])
  )
  const checks = [
    ...events.flatMap((event) =>
      event._tag === "ToolCallStarted" || event._tag === "ToolAttempt" ? given(event.tool, event.arguments) : []
    ),
    ...executions.flatMap(({ outcome, tool }) =>
      outcome._tag === "Nested" || (outcome._tag === "Value" && outcome.encoded) ? answered(tool, outcome.value) : []
    ),
    ...pauses.flatMap(({ decisions }) =>
      decisions.flatMap((decision) =>
        decision._tag === "Respond" ? answered(waiting.get(decision.callId), decision.result) : []
      )
    )
  ]
  return Effect.filter(checks, ({ fits, value }) => fits(value))
}

/**
 * A text of the same shape: its letters and digits are others, the last ones a number. `undefined` if it has too few of
 * them.
 */
const shapeOf = (text: string, number: number, letter: "x" | "a"): string | undefined => {
  let left = number
  const chars = Array.from(text).toReversed().map((char) => {
    const isDigit = /\p{N}/u.test(char)
    if (!isDigit && !/\p{L}/u.test(char)) return char
    const base = isDigit ? 10 : letter === "a" ? 6 : 26
    const at = left % base
    left = Math.floor(left / base)
    if (isDigit) return String(at).repeat(char.length)
    const other = String.fromCharCode(97 + ((letter.charCodeAt(0) - 97 + at) % 26)).repeat(char.length)
    return char === char.toLowerCase() ? other : other.toUpperCase()
  })
  const shape = chars.toReversed().join("")
  return left > 0 || shape === text ? undefined : shape
}

/** Choice of placeholders. */
export interface Choice {
  /** All that the recording says: a placeholder is a text that is not in it. */
  readonly text: string
  /** True if the length of texts has a meaning in the run. */
  readonly measured: boolean
  readonly checks: ReadonlyArray<Check>
  readonly make: MakePlaceholder | undefined
}

/** Number of tried numbers until a placeholder is a text that the recording does not contain. */
const tries = 1000

/** A placeholder for each secret: the first that fits wherever the secret fits. */
export const placeholdersFor = (
  secrets: ReadonlyArray<Secret>,
  { checks, make, measured, text }: Choice
): Effect.Effect<ReadonlyArray<Replacement>> => {
  const used = new Set<string>()
  const numbers = new Map<string, number>()
  const isFree = (placeholder: string | undefined): placeholder is string =>
    placeholder !== undefined && !used.has(placeholder) && !text.includes(placeholder)
  const firstFree = (made: (number: number) => string | undefined): ReadonlyArray<string> => {
    for (let number = 1; number <= tries; number++) {
      const placeholder = made(number)
      if (isFree(placeholder)) return [placeholder]
    }
    return []
  }

  const candidatesFor = ({ kind, value }: Secret): readonly [string, ...ReadonlyArray<string>] => {
    let number = (numbers.get(kind) ?? 0) + 1
    while (!isFree(`[redacted: ${kind} ${number}]`)) number++
    numbers.set(kind, number)
    const own = make?.({ kind, value, number })
    const readable = `[redacted: ${kind} ${number}]`
    const shapes = (["x", "a"] as const).flatMap((letter) => firstFree((number) => shapeOf(value, number, letter)))
    const [first = readable, ...others] = [
      ...(own === undefined ? [] : [own]),
      ...(measured ? [...shapes, readable] : [readable, ...shapes])
    ]
    return [first, ...others]
  }

  return Effect.forEach(secrets, (secret) => {
    const candidates = candidatesFor(secret)
    const replaced = (placeholder: string, value: unknown) =>
      replacer([{ secret, placeholder }], { measured: false }).value(value)
    const concerned = checks.filter(({ value }) => !Object.is(replaced(candidates[0], value), value))
    const fits = (placeholder: string) =>
      Effect.map(
        Effect.filter(concerned, (check) => check.fits(replaced(placeholder, check.value))),
        (fitting) => fitting.length === concerned.length
      )
    return Effect.map(Effect.findFirst(candidates, fits), (found) => {
      const placeholder = found._tag === "Some" ? found.value : candidates[0]
      used.add(placeholder)
      return { secret, placeholder }
    })
  })
}
