/** Stored errors of executors, and how a replay makes them again. */
import { Effect, Option, Predicate, Schema } from "effect"
import { Agent, ToolError } from "@recourse/core"
import { InjectedFailure, ofSchema } from "../faults/spoil.ts"
import { stored } from "../text/text.ts"
import { withFields } from "./texts.ts"

/** An executor's errors of the library itself, which no program's constructors make. */
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

/** Stored part of an executor's error: its fields. */
export const fieldsOf = (error: unknown): unknown =>
  Option.getOrElse(encodeSaid(error), () =>
    stored(
      Predicate.isObject(error)
        ? { ...error, ...(Predicate.hasProperty(error, "_tag") ? { _tag: error._tag } : undefined) }
        : error
    ))

/** Fields of the library's own errors that name a call or an error. */
const naming: ReadonlySet<string> = new Set(["_tag", "tool", "callId", "taskId", "code", "agent"])

/** A stored error with other texts. The library's own errors keep their names. */
export const mapError = (fields: unknown, text: (value: unknown) => unknown): unknown =>
  Option.isSome(decodeSaid(fields))
    ? withFields(fields as object, (key, field) => naming.has(key) ? field : text(field))
    : text(fields)

/**
 * Makes the typed failures of a program, by tag, if they have to be instances of its own classes.
 *
 * @category options
 * @since 0.2.0
 */
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
