/** Definition of a tool: checks a declaration, and makes the tool of it. */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as AiTool from "effect/ai/Tool"
import { ConfigurationError } from "../../ConfigurationError.ts"
import type { Effects } from "../../Policy.ts"
import { make as makeAttempt } from "../call/attempt/attempt.ts"
import type { Compensation } from "../call/tool/toolCompensation.ts"
import type { OnUnknownKeys, ToolInfo } from "../call/tool/toolInfo.ts"
import type { Listed } from "../call/tool/toolList.ts"
import { type Idempotency } from "../idempotency/idempotencyOptions.ts"
import { ToolFailure } from "../projection/toolFailure.ts"
import type { Approves, NeedsApproval, StatusOf } from "./callTypes.ts"
import { fromRecovered } from "./checkResult.ts"
import { withBuiltInTags } from "../foundation/builtInTags.ts"
import { parametersOf } from "../foundation/schema/sentSchema.ts"
import { type Execute, lastOf } from "./preliminaryResults.ts"
import type { Any, Trust } from "./tool.ts"
import { resultOrEffect } from "../foundation/options/hookResult.ts"
import { aBoolean } from "../foundation/options/optionCheck.ts"

/** The parameters of a status tool. */
const StatusParameters = Schema.Struct({
  task_id: Schema.String.annotate({ description: "The task_id that the tool answered" })
})

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/

/** Declaration of a tool with a definition of `effect/ai`. */
export interface Declaration {
  /** A dynamic one has the JSON Schema that models are sent (`modelDefinition`). */
  readonly definition: AiTool.Any
  /** Schema that checks arguments. Default: the definition's. */
  readonly parameters?: Schema.Top | undefined
  /** Unchecked parts of the arguments, listed by the tool. */
  readonly unchecked?: ReadonlyArray<string> | undefined
  readonly effects: Effects | undefined
  readonly timeout: Duration.Input | undefined
  readonly maxTimeout?: Duration.Input | undefined
  readonly listed?: Listed | undefined
  readonly needsApproval?: NeedsApproval<never, Approves | undefined> | undefined
  readonly mayRequestApproval?: boolean | undefined
  readonly trust?: Trust | undefined
  readonly failure?: Schema.Top | undefined
  readonly onUnknownKeys?: OnUnknownKeys | undefined
  readonly resultLimit?: number | undefined
  readonly allowIdenticalCalls?: boolean | undefined
  readonly coalesce?: boolean | undefined
  readonly transaction?: boolean | undefined
  readonly client?: ToolInfo["client"]
  readonly execute: Execute
  readonly idempotency?: Idempotency | "never" | undefined
  readonly status?: StatusOf<unknown> | undefined
  readonly compensate?: Compensation["compensate"] | undefined
}

const approvalOf = (
  name: string,
  needs: NeedsApproval<never, Approves | undefined> | undefined
): ToolInfo["approval"]["isNeeded"] => {
  if (needs === undefined || needs === false) return undefined
  const hook = { subject: `Tool "${name}"`, name: "needsApproval", kind: aBoolean }
  return (params, toolCallId) =>
    resultOrEffect(hook, () => (typeof needs === "function" ? needs(params, { toolCallId }) : needs) as Approves)
}

/** Problems of a declaration, each with the condition under which it has it. */
const problemsOf = (
  { coalesce, compensate, definition, effects, idempotency, resultLimit, transaction }: Declaration,
  timeout: Duration.Duration | undefined,
  maxTimeout: Duration.Duration | undefined
): ReadonlyArray<readonly [isProblem: boolean, problem: string]> => [
  [!namePattern.test(definition.name), "a name is 1 to 64 letters, digits, underscores and hyphens"],
  [timeout !== undefined && !(Duration.toMillis(timeout) > 0), "timeout must be longer than 0"],
  [
    maxTimeout !== undefined && (timeout === undefined || Duration.isLessThan(maxTimeout, timeout)),
    "maxTimeout needs a timeout, and is not shorter than it"
  ],
  [resultLimit !== undefined && !(resultLimit > 0), "resultLimit must be more than 0"],
  [coalesce === true && effects !== "read", "coalesce is for tools with effects: \"read\""],
  [
    transaction === true && (effects !== "write" || idempotency !== undefined),
    "transaction is for tools with effects: \"write\" and without idempotency"
  ],
  [compensate !== undefined && effects === "read", "compensate is for tools that do something"]
]

/** The definition with the effects and the approval of the declaration. */
const definitionOf = ({ definition: sent, effects, needsApproval }: Declaration): AiTool.Any => {
  const asked = needsApproval === undefined || sent.needsApproval !== undefined
    ? sent
    : sent.setNeedsApproval(
      (params, { toolCallId }) =>
        (approvalOf(sent.name, needsApproval)?.(params as never, toolCallId) ?? false) as never
    )
  return effects === undefined ? asked : asked
    .annotate(AiTool.Readonly, effects === "read")
    .annotate(AiTool.Destructive, effects === "write")
    .annotate(AiTool.Idempotent, effects !== "write")
}

const infoOf = (options: Declaration, definition: AiTool.Any): ToolInfo => {
  const { effects } = options
  let jsonSchema: unknown
  return {
    name: definition.name,
    description: {
      text: definition.description,
      jsonSchema: () => jsonSchema ??= parametersOf(definition),
      isForeign: options.trust === "untrusted" && AiTool.isDynamic(definition)
    },
    effects,
    onUnknownKeys: options.onUnknownKeys ?? (effects === "write" ? "refuse" : "drop"),
    approval: {
      isNeeded: approvalOf(definition.name, options.needsApproval),
      mayBeRequested: options.mayRequestApproval === true
    },
    failure: options.failure,
    success: definition.successSchema,
    results: { limit: options.resultLimit, areUntrusted: options.trust === "untrusted" },
    equalCalls: {
      allowIdenticalCalls: options.allowIdenticalCalls,
      coalesce: options.coalesce,
      hasKeyFunction: typeof options.idempotency === "object" && options.idempotency.key !== undefined
    },
    isTransaction: options.transaction,
    client: options.client,
    listed: options.listed,
    passesKey: options.idempotency !== undefined && options.idempotency !== "never"
  }
}

/** The tool that answers the state of a task which the tool has started. */
const statusTool = (
  { definition: { name, successSchema }, failure, resultLimit, timeout, trust }: Declaration,
  status: StatusOf<unknown>
): Any =>
  define({
    definition: AiTool.make(`${name}_status`, {
      description: `The state of a task that ${name} has started`,
      parameters: StatusParameters,
      success: successSchema,
      failure: ToolFailure,
      failureMode: "return"
    }),
    effects: "read",
    timeout,
    trust,
    failure,
    resultLimit,
    allowIdenticalCalls: true,
    execute: ({ task_id }: typeof StatusParameters.Type) => status(task_id),
    idempotency: "never"
  })

/** @internal Makes a tool of a declaration. Throws a `ConfigurationError` if the declaration has a problem. */
export const define = (options: Declaration): Any => {
  const { compensate, effects, idempotency, status } = options
  const timeout = options.timeout === undefined ? undefined : Duration.fromInputUnsafe(options.timeout)
  const maxTimeout = options.maxTimeout === undefined ? undefined : Duration.fromInputUnsafe(options.maxTimeout)
  const { name } = options.definition
  const problem = problemsOf(options, timeout, maxTimeout).find(([isProblem]) => isProblem)
  if (problem !== undefined) throw new ConfigurationError({ subject: `Tool "${name}"`, problem: problem[1] })
  const definition = definitionOf(options)
  const parameters = options.parameters ?? definition.parametersSchema as Schema.Top
  const info = infoOf(options, definition)
  const attempt = makeAttempt({
    info,
    parameters: parameters as Schema.Decoder<never, unknown>,
    success: definition.successSchema,
    idempotency,
    timeout,
    maxTimeout,
    execute: options.execute,
    lastOf: lastOf(info, definition.successSchema)
  })
  if (compensate !== undefined) {
    const compensation: Compensation = {
      compensate,
      attempt: attempt as Compensation["attempt"],
      parameters,
      success: definition.successSchema,
      timeout,
      canReconcile: typeof idempotency === "object" && idempotency.reconcile !== undefined
    }
    Object.assign(info, { compensation })
  }
  return fromRecovered({
    name,
    info,
    status: status && statusTool(options, status),
    description: definition.description,
    parameters,
    unchecked: options.unchecked ?? [],
    success: definition.successSchema,
    effects,
    trust: options.trust ?? "trusted",
    definition,
    recovered: withBuiltInTags(attempt)
  })
}
