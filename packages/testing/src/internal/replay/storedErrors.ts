/** Stored errors of executors, and how a replay makes them again. */
import { Effect, Option, Predicate, Schema } from "effect"
import { Agent, ToolError } from "@recourse/core"
import { InjectedFailure, ofSchema } from "../faults/spoil.ts"
import { stored } from "../text/text.ts"
import { withFields } from "./texts.ts"

/** What an executor says by the library's own errors, which no program's constructors make. */
const Said = Schema.toCodecJson(Schema.Union([
  ToolError.Escalation,
  ToolError.Escalated,
  ToolError.AgentException,
  ToolError.PartialSuccess,
  ToolError.Pending,
  ToolError.OutcomeUnknown,
  Agent.HandedOff
]))

const encodeSaid = Schema.encodeUnknownOption(Said)
const decodeSaid = Schema.decodeUnknownOption(Said)

/** What is stored of an executor's error: its fields. */
export const fieldsOf = (error: unknown): unknown =>
  Option.getOrElse(encodeSaid(error), () =>
    stored(
      Predicate.isObject(error)
        ? { ...error, ...(Predicate.hasProperty(error, "_tag") ? { _tag: error._tag } : undefined) }
        : error
    ))

/** What names a call or an error in what the library itself says. */
const naming: ReadonlySet<string> = new Set(["_tag", "tool", "callId", "taskId", "code", "agent"])

/** A stored error with other texts. What the library itself says keeps its names. */
export const mapError = (fields: unknown, text: (value: unknown) => unknown): unknown =>
  Option.isSome(decodeSaid(fields))
    ? withFields(fields as object, (key, field) => naming.has(key) ? field : text(field))
    : text(fields)

/** Makes the typed failures of a program, by tag, where they have to be instances of its own classes. */
export type Failures = Readonly<Record<string, (fields: Readonly<Record<string, unknown>>) => unknown>>

/** An executor's error, made again of its fields: by the program's own constructor, else by the tool's `failure` schema. */
export const revive = (
  fields: unknown,
  options: { readonly failures?: Failures | undefined },
  declared: Schema.Top | undefined
): Effect.Effect<unknown> =>
  Effect.suspend(() => {
    if (!Predicate.hasProperty(fields, "_tag") || typeof fields._tag !== "string") return Effect.succeed(fields)
    const said = decodeSaid(fields)
    if (Option.isSome(said)) return Effect.succeed(said.value)
    const { _tag, ...rest } = fields as { readonly _tag: string; readonly [field: string]: unknown }
    const made = options.failures?.[_tag]?.(rest)
    return made === undefined || made === null
      ? ofSchema(declared, { _tag, ...rest }, () => new InjectedFailure({ _tag, ...rest }, undefined))
      : Effect.succeed(made)
  })
