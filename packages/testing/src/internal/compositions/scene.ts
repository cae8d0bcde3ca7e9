/** A composition, built: its tools, its agents and the model that speaks for all of them. */
import { Context, Effect, type Exit, Schema } from "effect"
import type { Prompt } from "effect/ai"
import { Agent, ErrorProjection, Policy, Recovery, Tool, ToolCall, type ToolError } from "@recourse/core"
import * as ScriptedModel from "../../ScriptedModel.ts"
import type { Composition } from "./composition.ts"
import { type Any, executorOf, type Hands, type Parts, recoveries } from "./executors.ts"
import { callback, failureOf } from "./faultyCallbacks.ts"
import { type Bank, CurrentPlace, type Payment, type Payments } from "./payments.ts"

/** The order of the untrusted page. */
export const planted = "planted"

/** The order that agents pay which the executor runs. */
const within = "within"

/** The outer agent. */
export const boss = "boss"

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "declined", model: "The bank has declined.", outcome: "not_done" })
) {}

const Order = Schema.Struct({ order: Schema.String })

/** One process of a composition: its number, and the number of events so far. */
export interface Process {
  readonly number: number
  readonly events: () => number
}

const outcomes: Readonly<Record<Composition["bank"][number], (pay: Effect.Effect<string>) => Any>> = {
  ok: (pay) => pay,
  slow: (pay) => Effect.delay(pay, "2 seconds"),
  declined: () => Effect.fail(new Declined()),
  lost: (pay) => Effect.andThen(pay, Effect.fail("connection reset")),
  hang: (pay) => Effect.andThen(pay, Effect.never),
  dies: (pay) => Effect.andThen(pay, Effect.suspend(() => Effect.die(new Error("injected"))))
}

const stateOf = (exit: Exit.Exit<unknown, unknown>): Payment["state"] =>
  exit._tag === "Success"
    ? "ok"
    : exit.cause.reasons.some((reason) => reason._tag === "Fail" && reason.error instanceof Declined)
    ? "declined"
    : "failed"

const bankExecutor =
  (composition: Composition, payments: Payments, process: Process, bank: Bank) => ({ order }: typeof Order.Type): Any =>
    Effect.contextWith((context: Context.Context<ToolCall.ToolCall>) => {
      const { id, idempotencyKey } = Context.get(context, ToolCall.ToolCall)
      const payment: Payment = {
        bank,
        order,
        callId: id,
        key: idempotencyKey,
        place: Context.get(context, CurrentPlace) ?? { root: id.split("/")[0]!, step: "itself" },
        process: process.number,
        after: process.events(),
        receipt: undefined,
        state: "running"
      }
      const drawn = composition.bank[payments.all.push(payment) - 1] ?? "ok"
      const outcome = drawn === "declined" && payments.hasPaid(bank, idempotencyKey) ? "ok" : drawn
      const pay = Effect.sync(() => `paid by ${bank}: ${payments.pay(payment, idempotencyKey)}`)
      return Effect.onExit(outcomes[outcome](pay), (exit) =>
        Effect.sync(() => {
          payment.state = stateOf(exit)
        }))
    })

const receiptIn = (text: unknown): string => /receipt-[AB]-\d+/.exec(String(text))?.[0] ?? "none"

const keyOf = ({ order }: typeof Order.Type): string => order

const keys = (composition: Composition, keyed: Composition["keyed"]): unknown => {
  if (keyed === "no") return undefined
  const reconcile = failureOf(composition, "reconcile")
  return { ...(keyed === "order" ? { key: keyOf } : {}), ...(reconcile === undefined ? {} : { reconcile }) }
}

const isDeployed = (process: Process): boolean => process.number > 0

const bankTool = (composition: Composition, payments: Payments, process: Process, bank: Bank): Tool.Any => {
  const { compensates, deployed, keyed } = composition
  const idempotency = keys(composition, isDeployed(process) && deployed === "keyed" && keyed === "no" ? "call" : keyed)
  return Tool.make("pay", {
    ...(isDeployed(process) && deployed === "described" ? { description: "Pays an order" } : {}),
    parameters: Order,
    success: Schema.String,
    failure: Declined,
    effects: "write",
    timeout: "3 seconds",
    ...(idempotency === undefined ? {} : { idempotency }),
    ...(compensates
      ? {
        compensate: callback(
          composition,
          "compensate",
          (_: unknown, result: unknown) =>
            Effect.map(
              ToolCall.ToolCall,
              ({ idempotencyKey }) =>
                payments.compensate(receiptIn(result), idempotencyKey ?? `#${payments.compensations++}`)
            )
        )
      }
      : {}),
    execute: bankExecutor(composition, payments, process, bank)
  } as never) as unknown as Tool.Any
}

const recovered = (tool: Tool.Any, operators: ReadonlyArray<(call: Any) => Any>): Tool.Any =>
  operators.length === 0
    ? tool
    : Tool.onError(
      tool as never,
      ((call: Any) => operators.reduce((recovered, operator) => operator(recovered), call)) as never
    ) as unknown as Tool.Any

const budget = { turns: 8, toolCalls: 24, retriesPerTool: 6, fixes: 4, duration: "60 seconds" } as const

const agentOf = (name: string, instructions: string, tools: ReadonlyArray<Tool.Any>, options: object): Agent.Any =>
  Agent.make(name, {
    instructions,
    tools,
    budget,
    defaults: { onError: Recovery.keepGoing },
    ...options
  } as never) as unknown as Agent.Any

const partsOf = (composition: Composition, payments: Payments, process: Process): Parts => {
  const { onTainted } = composition
  const fetch = Tool.make("fetch", {
    success: Order,
    effects: "read",
    trust: "untrusted",
    execute: () => Effect.succeed({ order: planted })
  }) as unknown as Tool.Any
  const reader = agentOf("reader", "reader", [fetch], { onTainted })
  const pay = {
    A: bankTool(composition, payments, process, "A"),
    B: bankTool(composition, payments, process, "B")
  }
  const operators = recoveries({ hands: undefined as never, parts: { reader } as never })
  const paying = recovered(pay.A, composition.payRecovery.map((operator) => operators[operator]))
  const agents = {
    clerk: agentOf("clerk", "clerk", [paying], { onTainted }),
    teller: agentOf("clerk", "teller", [pay.B], { onTainted })
  }
  return { fetch, pay: { ...pay, A: paying }, reader, ...agents } as unknown as Parts
}

const isDone = ({ role }: Prompt.Message): boolean => role === "tool"

const lastResult = (prompt: Prompt.Prompt): string => {
  const last = prompt.content.findLast(isDone)
  const part = last?.role === "tool" ? last.content.findLast(({ type }) => type === "tool-result") : undefined
  return part?.type === "tool-result" ? JSON.stringify(part.result) : ""
}

const answersOf = ({ content }: Prompt.Prompt): number => content.filter(({ role }) => role === "assistant").length

/** The model of an agent that the executor runs: it pays once, and then fails as often as it is to. */
const paysOnce = (letter: string, payments: Payments) => (prompt: Prompt.Prompt): ScriptedModel.Turn => {
  if (!prompt.content.some(isDone)) {
    return ScriptedModel.call("pay", { order: within }, { id: `${letter}${answersOf(prompt)}_0` })
  }
  return payments.failures-- > 0
    ? ScriptedModel.failure("InvalidRequestError")
    : ScriptedModel.text(lastResult(prompt))
}

/** The model, which speaks for each agent by its instructions. */
export const modelOf = ({ last, turns }: Composition, payments: Payments): ScriptedModel.Behaviour => {
  const speakers: Readonly<Record<string, (prompt: Prompt.Prompt) => ScriptedModel.Turn>> = {
    reader: (prompt) =>
      prompt.content.some(isDone)
        ? ScriptedModel.text(JSON.stringify({ order: planted }))
        : ScriptedModel.call("fetch", {}, { id: "r0_0" }),
    clerk: paysOnce("c", payments),
    teller: paysOnce("t", payments),
    [boss]: (prompt) => {
      const answered = answersOf(prompt)
      const calls = turns[answered]
      if (calls !== undefined) {
        return ScriptedModel.calls(calls.map(({ order, tool }, nth) => ({
          name: tool,
          params: order === "none" ? {} : { order },
          id: `d${answered}_${nth}`
        })))
      }
      return last === "answers" ? ScriptedModel.text("done") : ScriptedModel.failure("InvalidRequestError")
    }
  }
  return ({ prompt }) => {
    const [first] = prompt.content
    return speakers[first?.role === "system" ? first.content : ""]!(prompt)
  }
}

const presets = { keepGoing: Recovery.keepGoing, standard: Recovery.standard, chatSafe: Recovery.chatSafe } as const

/** The outer agent of a composition, in one of its processes. */
export const agentIn = (
  composition: Composition,
  payments: Payments,
  process: Process,
  hands: Hands
): Agent.Agent<string, string, unknown, never> => {
  const { compensates, deployed, effects, onTainted, preset, recovery } = composition
  const parts = partsOf(composition, payments, process)
  const operators = recoveries({ hands, parts })
  const version = isDeployed(process) && deployed === "mended"
    ? { ...composition, ends: "answers" as const }
    : composition
  const doing = Tool.make("do", {
    parameters: Order,
    success: Schema.String,
    timeout: "20 seconds",
    ...(effects === "undeclared" ? {} : { effects }),
    execute: executorOf(version, parts, payments, hands)
  } as never) as unknown as Tool.Any
  const tools = [
    ...(isDeployed(process) && deployed === "withoutDo"
      ? []
      : [recovered(doing, recovery.map((operator) => operators[operator]))]),
    parts.pay.A
  ]
  const policy = failureOf(composition, "policy")
  return agentOf(boss, boss, tools, {
    onTainted,
    defaults: { onError: presets[preset] },
    ...(policy === undefined ? {} : { policies: [Policy.make("fails", policy as never)] }),
    ...(compensates
      ? {
        compensation: {
          timeout: "1 second",
          tools: [parts.pay.A, parts.pay.B],
          report: callback(
            composition,
            "report",
            (left: ReadonlyArray<ToolError.NotCompensated>) =>
              Effect.sync(() => void payments.reported.push(...left.map(({ callId }) => callId)))
          )
        }
      }
      : {})
  }) as unknown as Agent.Agent<string, string, unknown, never>
}
