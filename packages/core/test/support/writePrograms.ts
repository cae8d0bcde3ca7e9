/** Random programs of one write, and the records of an external service. */
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Data, Effect, Layer, Schedule, Schema } from "effect"
import { WebCrypto } from "effect/crypto"
import { CircuitBreaker } from "effect/persistence"
import {
  Agent,
  AgentEvent,
  Audit,
  ErrorProjection,
  IdempotencyLedger,
  Recovery,
  Tool,
  ToolCall,
  ToolError
} from "@recourse/core"
import { random } from "./kit.ts"

/** The service guarantees that it did not execute. */
export class Refused extends Schema.TaggedError<Refused>()(
  "Refused",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "The bank is closed.", outcome: "not_done" })
) {}
/** The tool's schema has text for it, and does not say whether anything was done. */
export class Busy extends Schema.TaggedError<Busy>()("Busy", {}, ErrorProjection.declare({ code: "upstream_error" })) {}
/** The tool's schema declares the outcome as unknown. */
export class Murky extends Schema.TaggedError<Murky>()(
  "Murky",
  {},
  ErrorProjection.declare({ code: "upstream_error", outcome: "unknown" })
) {}
export class Lost extends Data.TaggedError("Lost") {}
class Own extends Data.TaggedError("Own") {}

/** The service's effect for a request, and its answer to the caller. */
export const answers = {
  ok: { done: true, says: Effect.void },
  slow: { done: true, says: Effect.sleep("2 seconds") },
  refused: { done: false, says: Effect.fail(new Refused()) },
  busy: { done: false, says: Effect.fail(new Busy()) },
  murky: { done: true, says: Effect.fail(new Murky()) },
  lostBefore: { done: false, says: Effect.fail(new Lost()) },
  lostAfter: { done: true, says: Effect.fail(new Lost()) },
  hangs: { done: true, says: Effect.never },
  dies: { done: true, says: Effect.die("bug") },
  unknown: {
    done: true,
    says: Effect.suspend(() =>
      Effect.fail(new ToolError.OutcomeUnknown({ tool: "x", callId: "x", attempt: 1, causes: [], after: 1 as never }))
    )
  }
} as const satisfies Record<string, { readonly done: boolean; readonly says: Effect.Effect<void, unknown> }>

export const keys = ["none", "call", "arguments", "operator"] as const
export const steps = [
  "retry",
  "plainRetry",
  "timeout",
  "fallback",
  "escalateExecution",
  "escalateUnknown",
  "standard",
  "own",
  "circuit",
  "fix",
  "hedge"
] as const
export const siblings = ["none", "fails", "dies"] as const

export interface Plan {
  readonly key: (typeof keys)[number]
  readonly timeout: boolean
  readonly answers: ReadonlyArray<keyof typeof answers>
  readonly recovery: ReadonlyArray<(typeof steps)[number]>
  readonly agents: "none" | "standard" | "escalate"
  readonly nested: "no" | "undeclared" | "read" | "tool"
  readonly sibling: (typeof siblings)[number]
  /** Milliseconds. */
  readonly deadline: number | undefined
  readonly interruptAt: number | undefined
  readonly order: number
}

/** The plan of a seed. */
export const draw = (seed: number): Plan => {
  const next = random(seed * 2654435761)
  const one = <A>(items: ReadonlyArray<A>): A => items[Math.floor(next() * items.length)]!
  const some = <A>(items: ReadonlyArray<A>, most: number): ReadonlyArray<A> =>
    Array.from({ length: Math.floor(next() * (most + 1)) }, () => one(items))
  return {
    key: one(keys),
    timeout: next() < 0.5,
    answers: [one(Object.keys(answers)), ...some(Object.keys(answers), 2)] as Plan["answers"],
    recovery: some(steps, 4),
    agents: one(["none", "standard", "escalate"]),
    nested: one(["no", "no", "undeclared", "read", "tool"]),
    sibling: next() < 0.6 ? "none" : one(siblings),
    deadline: next() < 0.25 ? 1 + Math.floor(next() * 5000) : undefined,
    interruptAt: next() < 0.4 ? Math.floor(next() * 600) : undefined,
    order: seed
  }
}

/** The judge: counts real executions, for any caller. */
interface Service {
  readonly payments: Map<string, number>
  requests: number
  /** Payments by the other provider, each of which is one more. */
  elsewhere: number
  /** Number of calls of the executor. */
  begun: number
}

type Call = Effect.Effect<string, never, ToolCall.ToolCall>

const step = (name: Plan["recovery"][number], other: Call): (call: Call) => Call => {
  const all: Record<typeof name, (call: Effect.Effect<string, ToolError.ToolError, never>) => unknown> = {
    retry: Recovery.retry({ times: 2, schedule: Schedule.spaced("100 millis") }),
    plainRetry: Effect.retry({ times: 1 }),
    timeout: Effect.timeout("1500 millis"),
    fallback: Recovery.fallback(["ExecutionError", "Timeout", "CircuitOpen"] as never, other),
    escalateExecution: Recovery.escalate("ExecutionError"),
    escalateUnknown: Recovery.escalate("OutcomeUnknown"),
    standard: Recovery.standard,
    own: Effect.catchTag("ExecutionError", () => Effect.fail(new Own())),
    circuit: Recovery.circuitBreaker(),
    hedge: (call) => Effect.race(call, call),
    fix: Recovery.fix("ExecutionError", Agent.fromFunction("fixer", () => Effect.succeed("{\"order\":8}"))) as never
  }
  return all[name] as never
}

const parameters = Schema.Struct({ order: Schema.Int })
const byOrder = { key: ({ order }: { readonly order: number }) => `order-${order}` }
const idempotency = ({ key }: Plan) => key === "call" ? true : key === "arguments" ? byOrder : undefined

const payTool = (plan: Plan, service: Service) => {
  const pay = Tool.make("pay", {
    parameters,
    success: Schema.String,
    effects: "write",
    failure: Schema.Union([Refused, Busy, Murky]),
    timeout: plan.timeout ? "3 seconds" : undefined,
    idempotency: idempotency(plan),
    execute: () => {
      service.begun++
      return Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) =>
        Effect.suspend(() => {
          const { done, says } = answers[plan.answers[Math.min(service.requests, plan.answers.length - 1)]!]
          const id = plan.key === "operator" ? undefined : idempotencyKey
          service.requests++
          if (done) {
            const payment = id ?? `request ${service.requests}`
            service.payments.set(payment, 1)
          }
          return Effect.as(says as Effect.Effect<void>, "paid")
        }))
    }
  })
  const other: Call = Effect.sync(() => {
    service.payments.set(`the other provider, ${++service.elsewhere}`, 1)
    return "paid elsewhere"
  })
  const recovered = pay.pipe(
    Tool.onError((call) => plan.recovery.reduce((call, name) => step(name, other)(call), call as never as Call))
  )
  return plan.key === "operator" ? recovered.pipe(Tool.onError(Recovery.idempotent())) : recovered
}

/** Outcome of a run: the service's effects, the reports, and the state of the key. */
export interface Outcome {
  readonly paid: number
  /** True if it was done under the key of the model's own arguments. */
  readonly isPaidUnderKey: boolean
  readonly begun: number
  readonly results: ReadonlyArray<
    { readonly tool: string; readonly isFailure: boolean; readonly code?: string | undefined; readonly result: any }
  >
  readonly started: ReadonlyArray<string>
  readonly audit: ReadonlyArray<string>
  readonly isFree: boolean
  readonly operations: number
}

/** Place of the ledger, and an action at the run's end, before the check. */
export interface Store {
  readonly ledger: Layer.Layer<IdempotencyLedger.IdempotencyLedger>
  readonly settled: Effect.Effect<void>
}

const memory: Store = { ledger: IdempotencyLedger.layerMemory, settled: Effect.void }

export const play = (plan: Plan, { ledger, settled }: Store = memory): Effect.Effect<Outcome> =>
  Effect.gen(function*() {
    const service: Service = { payments: new Map(), requests: 0, elsewhere: 0, begun: 0 }
    const events: Array<AgentEvent.AgentEvent> = []
    const audit: Array<string> = []
    const pay = payTool(plan, service)
    const beside = Tool.make("beside", {
      effects: "read",
      execute: () =>
        Effect.andThen(Effect.sleep("700 millis"), plan.sibling === "dies" ? Effect.die("bug") : Effect.fail(new Own()))
    })
    // A read that calls the write: the known state of the write applies to the outer call.
    const caller = Tool.make("pay", {
      parameters,
      success: Schema.String,
      effects: "read",
      execute: () => pay.call as Call
    })
    const clerk = Agent.make("clerk", {
      input: Schema.Unknown,
      prompt: () => "Pay",
      tools: [plan.nested === "tool" ? caller : pay, beside],
      ...(plan.agents === "none" ? {} : {
        defaults: {
          onError: plan.agents === "standard"
            ? Recovery.standard
            : Recovery.policy({ OutcomeUnknown: "escalate", Timeout: "escalate", LedgerUnavailable: "escalate" })
        }
      }),
      ...(plan.deadline === undefined ? {} : { budget: { duration: plan.deadline } })
    })
    const turn = ScriptedModel.calls([
      { name: "pay", params: { order: 7 } },
      ...(plan.sibling === "none" ? [] : [{ name: "beside", params: {} }])
    ])
    const isOutermost = plan.nested === "no" || plan.nested === "tool"
    const agent = isOutermost ? clerk : Agent.make("boss", {
      tools: [
        clerk.pipe(Agent.asTool("clerk", {
          description: "Pays",
          parameters: Schema.Struct({}),
          success: Schema.String,
          ...(plan.nested === "read" ? { effects: "read" } : {})
        } as { description: string; parameters: Schema.Struct<{}>; success: typeof Schema.String })).pipe(
          Tool.onError((call) => Effect.provide(call, ScriptedModel.layer([turn, ScriptedModel.text("done")])))
        )
      ],
      defaults: { onError: Recovery.policy({ OutcomeUnknown: "escalate" }) }
    })
    const script = isOutermost
      ? [turn, ScriptedModel.text("done")]
      : [ScriptedModel.call("clerk", {}), ScriptedModel.text("done")]
    const ended = yield* VirtualTime.run(
      (agent as unknown as Agent.Agent<string, string>).report("Pay").pipe(
        Effect.provide(ScriptedModel.layer(script)),
        Effect.provide(Layer.mergeAll(
          AgentEvent.listen((event) => Effect.sync(() => void events.push(event))),
          Audit.layer(({ decision, tool }) => Effect.sync(() => audit.push(`${tool} ${decision}`)))
        ))
      ),
      {
        limit: "1 minute",
        order: plan.order,
        ...(plan.interruptAt === undefined ? {} : { interruptAt: plan.interruptAt })
      }
    )
    yield* settled
    let isFree = false
    if (plan.key === "arguments") {
      const probe = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        idempotency: byOrder,
        execute: () => Effect.sync(() => (isFree = true, "probed"))
      })
      // Virtual time gives out the same ids again in each run: these are of another process.
      const otherIds = Effect.map(WebCrypto.WebCrypto, (crypto) => {
        for (let used = 0; used < 100; used++) crypto.randomUUID()
      })
      yield* VirtualTime.run(Effect.andThen(
        otherIds,
        Effect.provideService(probe.call, ToolCall.ToolCall, ToolCall.make({ id: "probe", arguments: { order: 7 } }))
      ))
    }
    return {
      paid: service.payments.size,
      isPaidUnderKey: service.payments.has("order-7"),
      begun: service.begun,
      results: events.flatMap((event) =>
        event._tag === "ToolResult" && event.parentCallId === undefined ? [event] : []
      ) as never,
      started: events.flatMap((event) => event._tag === "ToolCallStarted" ? [event.tool] : []),
      audit,
      isFree,
      operations: ended.operations
    }
  }).pipe(
    Effect.provide(ledger),
    Effect.provide(
      CircuitBreaker.layer({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "1 minute" }).pipe(
        Layer.provide(CircuitBreaker.layerStoreMemory())
      )
    )
  ) as never

/** Faults of an outcome. */
export const problems = (
  plan: Plan,
  { audit, begun, isFree, isPaidUnderKey, paid, results, started }: Outcome
): ReadonlyArray<string> => {
  const found: Array<string> = []
  const own = results.filter(({ tool }) => tool === "pay")
  // An answer in place of an unknown outcome has the code, too. It is in the audit of the write, and not of a call around it.
  const code = (result: Outcome["results"][number] | undefined) =>
    result?.isFailure === true
      ? result.result.code as string
      : result?.tool === "pay"
      ? result.code ?? "success"
      : "success"
  if (paid > 1) found.push(`paid ${paid} times`)
  if (started.includes("pay") && own.length !== 1) found.push(`${own.length} results`)
  for (const result of results) {
    if (result.tool === "beside") continue
    const said = code(result)
    if (said === "success" && result.tool === "pay" && paid !== 1) found.push(`said done, and paid ${paid} times`)
    if (said !== "success" && said !== "outcome_unknown" && paid > 0) {
      found.push(`${result.tool}: said ${said}, and paid`)
    }
    if (result.isFailure && result.result.message_for_user === "This was not done." && paid > 0) {
      found.push(`${result.tool}: the user was told that it was not done`)
    }
    if ((said === "outcome_unknown") !== audit.includes(`${result.tool} outcome_unknown`)) {
      found.push(`${result.tool}: said ${said}, audit ${audit.join(", ")}`)
    }
  }
  if (own.length === 1 && code(own[0]) === "outcome_unknown" && begun === 0) found.push("outcome unknown of nothing")
  if (plan.key === "arguments") {
    if (isFree && isPaidUnderKey) found.push("the key of a payment is free")
    if (!isFree && begun === 0) found.push("the key of nothing is taken")
  }
  return found
}
