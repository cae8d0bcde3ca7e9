/** Random plans for a subject. */
import { Predicate, Result, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import type { Tool } from "@recourse/core"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Subject } from "../../Subject.ts"
import { type Besides, faultsOfCallback } from "./coverage.ts"

export interface Drawn {
  readonly plan: FaultPlan.FaultPlan
  readonly scenario: string
  readonly interruptAt: number
}

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const toFault = (type: string, amount: number, tags: ReadonlyArray<string>, reason: FaultPlan.ModelErrorReason) => {
  switch (type) {
    case "failure":
      return { type, ...(tags.length === 0 ? {} : { error: { _tag: tags[amount % tags.length]! } }) }
    case "delay":
    case "model_delay":
      return { type, millis: amount }
    case "rate_limit":
      return { type, retryAfter: amount }
    case "model_error":
      return { type, reason }
    case "stream_cut":
      return { type, after: amount % 8 }
    default:
      return { type }
  }
}

const when = {
  from: between(1, 3),
  times: between(1, 3),
  probability: Schema.optionalKey(Schema.Literals([0.25, 0.5, 0.75])),
  amount: between(0, 90_000)
}

/**
 * Possible decisions of a person about the calls of a tool, with values that its schemas accept, and without arguments.
 */
const answers = ({ name, parameters, success }: Tool.Any) => {
  const tool = Schema.Literal(name)
  const arguments_ = Schema.Union([Schema.toType(parameters), Schema.Struct({})])
  return [
    Schema.Struct({ tool, type: Schema.Literal("approval_rejected"), ...when }),
    Schema.Struct({ tool, type: Schema.Literals(["approval_missing", "approval_late"]), ...when }),
    Schema.Struct({ tool, type: Schema.Literal("approval_edited"), value: arguments_, ...when }),
    Schema.Struct({ tool, type: Schema.Literal("approval_responded"), value: Schema.toType(success), ...when })
  ]
}

const isJson = Schema.is(Schema.Json)

/** An answer with its value in JSON; none if it has no JSON. */
export const toAnswer = (type: string, value: unknown, { parameters, success }: Tool.Any) => {
  const isEdit = type === "approval_edited"
  const encoded = isEdit && Predicate.isObject(value) && Object.keys(value).length === 0
    ? Result.succeed(value)
    : Schema.encodeUnknownResult((isEdit ? parameters : success) as Schema.Codec<unknown>)(value)
  if (Result.isFailure(encoded) || !isJson(encoded.success)) return undefined
  return isEdit ? { type, arguments: encoded.success } : { type, result: encoded.success }
}

/** Draws plans for a subject. */
export const drawn = <In, Out, E>(
  subject: Subject<In, Out, E>,
  faults: number,
  { asks, callbacks, services, stores }: Besides
): Arbitrary.Arbitrary<Drawn> => {
  const toolNames = subject.tools.map(({ name }) => name)
  const tags = Object.keys(subject.failures)
  const onTool = Schema.Struct({
    tool: Schema.Literals(toolNames),
    type: Schema.Literals(FaultPlan.toolFaults),
    ...when
  })
  const onModel = Schema.Struct({
    type: Schema.Literals(FaultPlan.modelFaults),
    reason: FaultPlan.ModelErrorReason,
    ...when
  })
  const onApproval = subject.tools.filter(({ name }) => asks.has(name)).flatMap(answers)
  const onService = Schema.Struct({
    tool: Schema.Literals([...services.keys()]),
    type: Schema.Literals(FaultPlan.serviceFaults),
    ...when
  })
  const onStore = Schema.Struct({
    store: Schema.Literals([...stores.keys()]),
    type: Schema.Literals(FaultPlan.storeFaults),
    ...when
  })
  const onCallback = callbacks.map(({ callback, tool }) =>
    Schema.Struct({
      callback: Schema.Literal(callback),
      ...(tool === undefined ? undefined : { tool: Schema.Literal(tool) }),
      type: Schema.Literals(faultsOfCallback(callback)),
      ...when
    })
  )
  // A union of unions, so that there are as many faults of tools as of models, of approvals, of stores and of callbacks.
  const one = Schema.Union([
    ...(toolNames.length === 0 ? [] : [onTool]),
    onModel,
    ...(onApproval.length === 0 ? [] : [Schema.Union(onApproval)]),
    ...(services.size === 0 ? [] : [onService]),
    ...(stores.size === 0 ? [] : [onStore]),
    ...(onCallback.length === 0 ? [] : [Schema.Union(onCallback)])
  ])
  const input = Schema.Struct({
    seed: between(0, 1_000_000),
    injections: Schema.Array(one).check(Schema.isMaxLength(faults)),
    scenario: Schema.Literals(Object.keys(subject.scenarios)),
    interruptAt: between(1, 2000)
  })
  return Arbitrary.map(Arbitrary.schema(input), ({ injections, interruptAt, scenario, seed }) => ({
    scenario,
    interruptAt,
    plan: {
      seed,
      injections: injections.flatMap((injection) => {
        const { amount, from, probability, times, type } = injection
        const reason = "reason" in injection ? injection.reason : "UnknownError"
        const fault = "value" in injection
          ? toAnswer(type, injection.value, subject.tools.find(({ name }) => name === injection.tool)!)
          : toFault(type, amount, tags, reason)
        return fault === undefined ? [] : [
          {
            ...("tool" in injection ? { tool: injection.tool } : undefined),
            ...("store" in injection ? { store: injection.store } : undefined),
            ...("callback" in injection ? { callback: injection.callback } : undefined),
            fault,
            from,
            times,
            ...(probability === undefined ? undefined : { probability })
          } as FaultPlan.Injection
        ]
      })
    }
  }))
}
