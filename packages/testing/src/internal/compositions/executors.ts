/** Executors of compositions: the steps of the tool `do`, and the operators around them. */
import { Effect, Schedule } from "effect"
import { Agent, Recovery, type Tool, ToolCall } from "@recourse/core"
import type { Composition, Step } from "./composition.ts"
import { type Bank, CurrentPlace, type Payments } from "./payments.ts"

/** An effect of a program, whatever it needs. */
export type Any = Effect.Effect<any, any, any>

type AnyAgent = Agent.Agent<string, string, unknown, never>

/** Calls and agents of an executor. Tests replace it by one that bypasses the library. */
export interface Hands {
  readonly call: (tool: Tool.Any, args: unknown) => Any
  readonly run: (agent: AnyAgent, input: string) => Any
}

/** Calls with the call that is executed, and runs agents as they are. */
export const hands: Hands = {
  call: (tool, args) =>
    Effect.flatMap(
      ToolCall.ToolCall,
      (current) =>
        Effect.provideService((tool as unknown as { readonly call: Any }).call, ToolCall.ToolCall, {
          ...current,
          arguments: args
        })
    ),
  run: (agent, input) => agent.run(input)
}

/** The tools and agents that steps use. */
export interface Parts {
  readonly fetch: Tool.Any
  readonly pay: Readonly<Record<Bank, Tool.Any>>
  readonly reader: AnyAgent
  readonly clerk: AnyAgent
  readonly teller: AnyAgent
}

/** A step, after steps that have answered `last`, in a call for an order. */
interface At {
  readonly hands: Hands
  readonly parts: Parts
  readonly payments: Payments
  readonly order: string
  readonly last: unknown
}

const ofBank = ({ payments }: At, bank: Bank) => (text: unknown): unknown => {
  payments.answers.push({ bank, text: String(text) })
  return undefined
}

const does: Readonly<Record<Step["does"], (at: At) => Any>> = {
  page: ({ hands, parts }) => hands.call(parts.fetch, {}),
  reader: ({ hands, parts }) => hands.run(parts.reader, "Whom?"),
  pay: (at) => Effect.map(at.hands.call(at.parts.pay.A, { order: at.order }), ofBank(at, "A")),
  obey: (at) => Effect.map(at.hands.call(at.parts.pay.A, at.last ?? { order: at.order }), ofBank(at, "A")),
  otherBank: (at) => Effect.map(at.hands.call(at.parts.pay.B, { order: at.order }), ofBank(at, "B")),
  clerk: (at) => Effect.map(at.hands.run(at.parts.clerk, "Pay"), ofBank(at, "A")),
  teller: (at) => Effect.map(at.hands.run(at.parts.teller, "Pay"), ofBank(at, "B"))
}

const again = { times: 2, schedule: Schedule.forever } as const

const how: Readonly<Record<Step["how"], (step: Any) => Any>> = {
  once: (step) => step,
  retry: (step) => Effect.retry(step, { times: 2 }),
  recovery: (step) => Recovery.retry(again)(step),
  timeout: (step) => step.pipe(Effect.timeout("1 second"), Effect.retry({ times: 1 })),
  race: (step) => Effect.race(step, step),
  all: (step) => Effect.map(Effect.all([step, step], { concurrency: 2 }), ([first]) => first),
  detached: (step) => Effect.asVoid(Effect.forkDetach(Effect.delay(step, "1 second")))
}

const inPlace = (step: string, effect: Any): Any =>
  Effect.flatMap(
    ToolCall.ToolCall,
    ({ id }) => Effect.provideService(effect, CurrentPlace, { root: id.split("/")[0]!, step })
  )

/** The executor of the tool `do`. */
export const executorOf =
  ({ ends, steps }: Composition, parts: Parts, payments: Payments, hands: Hands) =>
  ({ order }: { readonly order: string }): Any =>
    Effect.gen(function*() {
      const isFirst = payments.executions++ === 0
      let last: unknown
      for (const [nth, step] of steps.entries()) {
        const at: At = { hands, parts, payments, order, last }
        last = yield* inPlace(String(nth), how[step.how](does[step.does](at)))
      }
      return yield* isFirst ? endings[ends] : endings.answers
    })

const endings: Readonly<Record<Composition["ends"], Any>> = {
  answers: Effect.succeed("did it"),
  fails: Effect.fail("down"),
  hangs: Effect.never,
  dies: Effect.suspend(() => Effect.die(new Error("injected")))
}

/** Maximum of a step's writes in one call of the outer model. */
export const mostWrites = ({ does, how }: Step): number => {
  const isByHand = does === "pay" || does === "obey" || does === "otherBank"
  return how === "all" || how === "race"
    ? 2
    : isByHand && (how === "retry" || how === "recovery")
    ? 3
    : isByHand && how === "timeout"
    ? 2
    : 1
}

/** Effect of each operator of a recovery on a call. */
export const recoveries = (
  { hands, parts }: { readonly hands: Hands; readonly parts: Parts }
): Readonly<Record<Composition["recovery"][number], (call: Any) => Any>> => {
  const byProgram = Agent.fromFunction("asks", () => parts.reader.run("Whom?"))
  return {
    retry: (call) => Recovery.retry(again)(call),
    effectRetry: (call) => Effect.retry(call, { times: 2 }),
    fix: (call) => Recovery.fix("InvalidArgs", parts.reader as never)(call as never),
    fixByProgram: (call) => Recovery.fix("InvalidArgs", byProgram as never)(call as never),
    fallback: (call) =>
      Recovery.fallback(
        ["ExecutionError", "Timeout"],
        inPlace("fallback", Effect.as(hands.run(parts.clerk, "Pay instead"), "by the clerk"))
      )(call as never) as Any,
    catch: (call) =>
      Effect.catchTag(call, "ExecutionError", () =>
        inPlace(
          "catch",
          Effect.flatMap(hands.run(parts.reader, "Whom?"), (order) => Effect.as(hands.call(parts.pay.A, order), "paid"))
        )),
    race: (call) => Effect.race(call, call)
  }
}
