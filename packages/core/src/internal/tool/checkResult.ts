/** Result check: decodes the result of a call, behind all recovery, and encodes it as JSON for transcripts, events and snapshots. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { pipeArguments } from "effect/Pipeable"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { InvalidResult, type Issue, NotApproved } from "../../ToolError.ts"
import { type Call, ToolCall } from "../call/call.ts"
import { callOf, EnclosingCall, isByHandWithin } from "../call/children/childCall.ts"
import { noteForeignDefects } from "../call/execute/executorDefect.ts"
import { errorFields, repeatStop, toolName } from "../call/record/record.ts"
import { leave, startMaking } from "../call/record/claiming.ts"
import { setTool } from "../call/record/attempts.ts"
import { keepingTags } from "../foundation/builtInTags.ts"
import { provide } from "../foundation/effect/provideService.ts"
import { childSpan } from "./childSpan.ts"
import { modelOutputOf, noParts } from "./modelOutput.ts"
import { type Any, type Check, TypeId } from "./tool.ts"
import { toJson } from "../foundation/json/jsonValue.ts"
import { lostByJson } from "../foundation/json/lostByJson.ts"
import { fromIssue } from "../foundation/schema/schemaIssues.ts"

const Proto = {
  [TypeId]: TypeId,
  pipe() {
    return pipeArguments(this, arguments)
  }
}

/**
 * @internal Checks answers of calls by the tool's `success` schema, and encodes them as JSON, and as parts if the tool
 * declares them.
 */
export const resultCheck = ({ definition, name, success }: Pick<Any, "definition" | "name" | "success">): Check => {
  const encode = resultEncoder(success)
  const invalid = ({ record }: Call, issues: InvalidResult["issues"]) =>
    new InvalidResult({ ...errorFields(record), tool: name, issues })
  const check: Check = (call, value) =>
    Effect.mapBothEager(encode(value), {
      onFailure: (issues) => invalid(call, issues),
      onSuccess: (encoded) => ({ value, encoded })
    })
  if (definition.toModelOutput === undefined) return check
  return (call, value) =>
    Effect.flatMapEager(check(call, value), (checked) => {
      const modelOutput = modelOutputOf(definition, value)
      return modelOutput === undefined
        ? Effect.fail(invalid(call, noParts))
        : Effect.succeed({ ...checked, modelOutput })
    })
}

/** @internal A tool with its recovery, and the steps behind it. */
export interface Completable {
  readonly tool: Pick<Any, "info">
  /** A call with all its recovery. */
  readonly recovered: Any["recovered"]
  readonly check: Check
}

/** @internal Runs a call, recovered, and checks its answer: behind all recovery, so it causes no further attempt. */
export const runAndCheck = (
  { check, recovered, tool }: Completable,
  call: Call
): ReturnType<Check> => {
  const { record } = call
  setTool(record, tool.info)
  let isMade = false
  const made = Effect.suspend(() => {
    isMade = true
    startMaking(record)
    return recovered
  })
  const checked = Effect.flatMap(
    Effect.onExitPrimitive(made, () => isMade ? leave(call) : undefined),
    (value) => check(call, value)
  )
  return record.gate === undefined
    ? provide(checked, ToolCall, call)
    : Effect.updateContext(
      checked,
      (context: Context.Context<unknown>) =>
        context.pipe(Context.add(ToolCall, call), Context.add(EnclosingCall, call)) as Context.Context<unknown>
    )
}

/**
 * A call that may not run, regardless of recovery: a failure of a call by hand, because no run could wait; within a
 * call of an agent, a stop of that call.
 */
const unlessStopped = ({ id, record }: Call, call: ReturnType<Check>): ReturnType<Check> =>
  Effect.flatMap(Effect.exit(call), (exit): ReturnType<Check> => {
    if (Exit.isFailure(exit)) noteForeignDefects(exit.cause)
    if (record.admission.stop === undefined) return exit
    return record.gate === undefined
      ? Effect.fail(new NotApproved({ tool: toolName(record), callId: id }))
      : repeatStop
  })

export const fromRecovered = (self: Omit<Any, "call" | "pipe" | typeof TypeId>): Any => {
  const { info, recovered } = self
  const completable = { tool: self, recovered, check: resultCheck(self) }
  const tool: Any = Object.assign(Object.create(Proto), self, {
    call: Effect.contextWith((context: Context.Context<ToolCall>) => {
      const asked = Context.get(context, ToolCall)
      const ambient = context as Context.Context<never>
      const call = callOf(info, asked, Context.get(ambient, EnclosingCall))
      const ran = unlessStopped(call, runAndCheck(completable, call))
      return Effect.map(call === asked ? ran : childSpan(ambient, tool, call, ran), ({ value }) => value)
    })
  })
  return tool
}

/**
 * The call of a tool as a recovery gets it. A call that a program makes by hand within a recovery is a call of its own below the
 * call of the agent, as within an executor: its arguments pass the gate.
 */
export const insideRecovery = (tool: Any, call: Any["recovered"] = tool.recovered): Any["recovered"] =>
  keepingTags(
    Effect.contextWith((context: Context.Context<ToolCall>) => {
      const enclosing = Context.get(context as Context.Context<never>, EnclosingCall)
      return isByHandWithin(Context.get(context, ToolCall), enclosing) ? tool.call : call
    }),
    call
  )

/**
 * Encodes a result as JSON; fails with the issues of a value that does not fit the schema, or that JSON cannot
 * represent.
 */
export type ResultEncoder = (value: unknown) => Effect.Effect<Schema.Json, ReadonlyArray<Issue>, unknown>

const beyondJson: ReadonlyArray<Issue> = [{
  path: [],
  expected: "expected a value that JSON can hold",
  problem: "invalid"
}]

const orBeyondJson = (encoded: unknown): Effect.Effect<Schema.Json, ReadonlyArray<Issue>> =>
  Option.match(encoded === undefined ? Option.some(null) : toJson(encoded), {
    onNone: () => {
      const { kind, path } = lostByJson(encoded)
      return Effect.fail(
        beyondJson.map((issue) => ({ ...issue, path, expected: `${issue.expected}, and not ${kind}` }))
      )
    },
    onSome: Effect.succeed
  })

/** An encoder for values that cannot be read, such as a getter that throws, and for schemas that throw: they have no JSON form. */
const contained = (encode: ResultEncoder): ResultEncoder => (value) => {
  try {
    const encoded = encode(value)
    return Exit.isExit(encoded) && Exit.isSuccess(encoded)
      ? encoded
      : Effect.catchDefect(encoded, () => Effect.fail(beyondJson))
  } catch {
    return Effect.fail(beyondJson)
  }
}

const primitives: ReadonlySet<string> = new Set(["String", "Number", "Boolean"])

/** True if a schema's encoded form is a primitive, which is JSON itself, unless it is a number without a JSON form. */
const isPrimitive = (schema: Schema.Top): boolean => primitives.has(Schema.toEncoded(schema).ast._tag)

const isJsonPrimitive = (value: unknown): value is string | number | boolean =>
  typeof value !== "number" || Number.isFinite(value)

/**
 * Encodes by the schema's JSON form, which represents a `Date`, an `Option`, a bigint, bytes, `NaN` and `undefined`.
 * Without such a form (`Schema.Unknown`, classes of others), the encoded value is reduced to its JSON text.
 */
export const resultEncoder = (success: Schema.Top): ResultEncoder => {
  const encodeAsJson = Schema.encodeUnknownEffect(Schema.toCodecJson(success))
  const encode = Schema.encodeUnknownEffect(success)
  const encodePlainly = (value: unknown) =>
    Effect.catchEager(encode(value), ({ issue }) => Effect.fail(fromIssue(issue)))
  const viaJson: ResultEncoder = (value) =>
    Effect.flatMapEager(Effect.catchEager(encodeAsJson(value), () => encodePlainly(value)), orBeyondJson)
  if (!isPrimitive(success)) return contained(viaJson)
  return contained((value) => {
    const encoded = encode(value)
    return Exit.isExit(encoded) && Exit.isSuccess(encoded) && isJsonPrimitive(encoded.value)
      ? Effect.succeed(encoded.value)
      : viaJson(value)
  })
}
