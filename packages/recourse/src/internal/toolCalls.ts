/** Runs the tool calls of one answer: in parallel, each with exactly one result, in the order of the calls. */
import { Cause, Effect, Exit } from "effect"
import * as ErrorProjection from "../ErrorProjection.ts"
import { escalateError } from "../recovery/escalate.ts"
import type { AnyPolicy } from "../recovery/policy.ts"
import { catchTags, isTagged } from "../recovery/tags.ts"
import { CaptureContent } from "../Telemetry.ts"
import * as Tool from "../Tool.ts"
import { type Call, make as makeCall, ToolCall } from "../ToolCall.ts"
import { Pending } from "../ToolError.ts"
import * as Arguments from "./arguments.ts"
import { errorName } from "./boundary.ts"
import { canonicalJson } from "./canonicalJson.ts"
import { markOf, pendingResult, withMark } from "./marks.ts"
import type { RawCall } from "./modelCall.ts"
import { emit, type Run } from "./run.ts"
import type { CallResult, Transcript } from "./transcript.ts"

/** A tool as an agent runs it: all recovery composed, the result checked and encoded. */
export interface AgentTool {
  readonly tool: Tool.Any
  readonly call: Effect.Effect<Tool.Checked<unknown>, unknown, unknown>
  /** The tool whose tasks it tells the state of. Offered once that one has a task that goes on. */
  readonly statusOf: string | undefined
}

type Recover = (call: Effect.Effect<unknown, unknown, unknown>) => Effect.Effect<unknown, unknown, unknown>

/** Composes the recoveries of a tool: its own, the agent's for it, the agent's for all; and the check behind them. */
export const agentTool = (
  tool: Tool.Any,
  forThis: Recover | undefined,
  forAll: (Recover & AnyPolicy) | undefined
): AgentTool => {
  const own = Tool.guarded(tool)
  const agents = forThis === undefined ? own : forThis(own)
  const all = forAll === undefined ? agents : forAll(agents)
  const checked = Tool.checked(tool)(
    all === own ? own : Effect.updateService(all, ToolCall, (call): Call => ({ ...call, level: "agent" }))
  )
  return {
    tool,
    statusOf: undefined,
    call: forAll?.table.InvalidResult === "escalate"
      ? catchTags(checked, ["InvalidResult"], (error) => escalateError(error))
      : checked
  }
}

/** A tool as an agent runs it, and the one that tells the state of its tasks, where it declares one. */
export const agentTools = (...[tool, forThis, forAll]: Parameters<typeof agentTool>): ReadonlyArray<AgentTool> =>
  tool.status === undefined
    ? [agentTool(tool, forThis, forAll)]
    : [agentTool(tool, forThis, forAll), { ...agentTool(tool.status, forThis, forAll), statusOf: tool.name }]

/** What the calls of an agent's run have in common. */
export interface Calls {
  readonly run: Run
  readonly tools: ReadonlyMap<string, AgentTool>
  /** Names of the tools that the model was offered in the request that it answered. */
  offered: ReadonlyArray<string>
  readonly transcript: Transcript
  readonly concurrency: number | "unbounded"
  /** How often the same call may fail in the same way before the model is told to stop making it. */
  readonly repeatedFailures: number
  /** Failures so far, by tool and arguments. */
  readonly failures: Map<string, Map<string, number>>
}

const keyOf = (call: RawCall): string => `${call.name}\n${canonicalJson(call.params)}`

const repeated = (calls: Calls, call: RawCall): { readonly code: string; readonly times: number } | undefined => {
  if (calls.failures.size === 0) return undefined
  for (const [code, times] of calls.failures.get(keyOf(call)) ?? []) {
    if (times >= calls.repeatedFailures) return { code, times }
  }
  return undefined
}

const countFailure = (calls: Calls, call: RawCall, code: string): number => {
  const key = keyOf(call)
  const codes = calls.failures.get(key) ?? new Map<string, number>()
  const times = (codes.get(code) ?? 0) + 1
  codes.set(code, times)
  calls.failures.set(key, codes)
  return times
}

const failed = (
  call: RawCall,
  failure: ErrorProjection.ToolFailure,
  repaired: CallResult["repaired"] = undefined
): CallResult => ({ call, isFailure: true, encoded: failure, modelOutput: undefined, repaired, ...unmarked })

const unmarked = { degraded: undefined, pendingOf: undefined }

/** The result of a call that ended the run, or that the run's end interrupted. */
const endedResult = (call: RawCall, started: boolean, exit: Exit.Exit<unknown, unknown> | undefined, runId: string) => {
  const error = exit !== undefined && Exit.isFailure(exit)
    ? exit.cause.reasons.find(Cause.isFailReason)?.error
    : undefined
  return failed(
    call,
    error === undefined
      ? ErrorProjection.notRun(started, runId)
      : ErrorProjection.toolFailure(error, runId)
  )
}

const execute = (
  calls: Calls,
  { call: effect, statusOf, tool }: AgentTool,
  raw: RawCall
): Effect.Effect<CallResult, unknown, unknown> =>
  Effect.suspend(() => {
    const { run } = calls
    const call = makeCall({ id: raw.id, arguments: raw.params })
    const repaired = () =>
      call.record.fixedBy === undefined || call.record.fixedArguments === undefined
        ? undefined
        : { arguments: call.record.fixedArguments, by: call.record.fixedBy }
    return effect.pipe(
      Effect.map(({ encoded, value }): CallResult => ({
        call: raw,
        isFailure: false,
        ...withMark(call.record.degraded, encoded, tool.definition.toModelOutput?.(value)),
        repaired: repaired(),
        degraded: call.record.degraded && markOf(call.record.degraded),
        pendingOf: undefined
      })),
      Effect.catchIf(
        (error) => error instanceof Pending,
        (pending) =>
          Effect.as(
            emit(run, () => ({ _tag: "ToolPending", callId: raw.id, tool: raw.name, taskId: pending.taskId })),
            {
              call: raw,
              isFailure: false,
              encoded: pendingResult(pending, statusOf === undefined ? tool.status?.name : raw.name),
              modelOutput: undefined,
              repaired: repaired(),
              degraded: undefined,
              pendingOf: statusOf ?? raw.name
            } satisfies CallResult
          )
      ),
      Effect.catchIf(
        (error) => isTagged(error, ["Escalation"]),
        (error) => {
          const failure = ErrorProjection.toolFailure(error, run.id)
          const times = countFailure(calls, raw, failure.code)
          return Effect.as(
            Effect.annotateCurrentSpan("error.type", failure.code),
            failed(
              raw,
              times < calls.repeatedFailures ? failure : ErrorProjection.repeatedCall(times, failure.code, run.id),
              repaired()
            )
          )
        }
      ),
      Effect.tapCause((cause) => Effect.annotateCurrentSpan("error.type", errorName(cause))),
      Effect.provideService(ToolCall, call)
    )
  })

const observed = (run: Run, raw: RawCall, effect: Effect.Effect<CallResult, unknown, unknown>) =>
  Effect.flatMap(CaptureContent, (capture) => {
    const inSpan = Effect.withSpan(
      capture
        ? Effect.tap(
          effect,
          (result) => Effect.annotateCurrentSpan("gen_ai.tool.call.result", JSON.stringify(result.encoded))
        )
        : effect,
      `execute_tool ${raw.name}`,
      {
        captureStackTrace: false,
        attributes: {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": raw.name,
          "gen_ai.tool.call.id": raw.id,
          "gen_ai.tool.type": "function",
          ...(capture ? { "gen_ai.tool.call.arguments": Arguments.toText(raw.params) } : undefined)
        }
      }
    )
    return Effect.andThen(
      emit(run, () => ({
        _tag: "ToolCallStarted",
        callId: raw.id,
        tool: raw.name,
        arguments: Arguments.toText(raw.params)
      })),
      inSpan
    )
  })

const one = (calls: Calls, raw: RawCall): Effect.Effect<CallResult, unknown, unknown> => {
  const { run, tools } = calls
  const tool = tools.get(raw.name)
  const outcome = repeated(calls, raw)
  return observed(
    run,
    raw,
    outcome !== undefined
      ? Effect.succeed(failed(raw, ErrorProjection.repeatedCall(outcome.times, outcome.code, run.id)))
      : tool === undefined
      ? Effect.sync(() => {
        const failure = ErrorProjection.toolNotFound(raw.name, calls.offered, run.id)
        countFailure(calls, raw, failure.code)
        return failed(raw, failure)
      })
      : execute(calls, tool, raw)
  )
}

const announce = (run: Run, result: CallResult): Effect.Effect<void> =>
  emit(run, () => ({
    _tag: "ToolResult",
    callId: result.call.id,
    tool: result.call.name,
    isFailure: result.isFailure,
    ...(result.isFailure ? { code: (result.encoded as ErrorProjection.ToolFailure).code } : undefined),
    ...(result.degraded === undefined ? undefined : { degraded: result.degraded }),
    result: result.encoded
  }))

/**
 * Runs the calls of one answer and commits their results. When one of them ends the run, or the run is interrupted, what
 * has completed keeps its result and everything else gets one that says so. Answers whether all of them failed.
 */
export const runAll = (calls: Calls, raws: ReadonlyArray<RawCall>): Effect.Effect<boolean, unknown, unknown> =>
  Effect.suspend(() => {
    const results: Array<CallResult | undefined> = raws.map(() => undefined)
    const started = new Set<number>()
    const exits = new Map<number, Exit.Exit<unknown, unknown>>()
    const run = (raw: RawCall, index: number) =>
      Effect.suspend(() => {
        started.add(index)
        return Effect.onExit(one(calls, raw), (exit) => {
          exits.set(index, exit)
          if (Exit.isFailure(exit)) return Effect.void
          results[index] = exit.value
          return announce(calls.run, exit.value)
        })
      })
    const batch = raws.length === 1
      ? run(raws[0]!, 0)
      : Effect.forEach(raws, run, { concurrency: calls.concurrency, discard: true })
    return batch.pipe(
      Effect.onExit((exit) => {
        const missing = raws.flatMap((raw, index) => {
          if (results[index] !== undefined) return []
          const result = endedResult(raw, started.has(index), exits.get(index), calls.run.id)
          results[index] = result
          return [result]
        })
        calls.transcript.results(results as ReadonlyArray<CallResult>)
        return Exit.isSuccess(exit)
          ? Effect.void
          : Effect.forEach(missing, (result) => announce(calls.run, result), { discard: true })
      }),
      Effect.map(() => results.every((result) => result?.isFailure === true))
    )
  })
