/** What approvals and policies add to types, and that nothing is added without them. */
import { Context, Effect, Layer, Redacted, type Result, Schema } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { Agent, Approval, type Budget, type Journal, Policy, Skill, Tool, type ToolError } from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

/** What any agent can fail with. */
type Own = AiError.AiError | Budget.BudgetExceeded

declare const keys: Layer.Layer<Approval.SnapshotKey>

class Limits extends Context.Service<Limits, { readonly max: number }>()("typetest/Limits") {}

const Plain = Tool.make("plain", { execute: () => Effect.void }).pipe(
  Tool.onError((call) => call.pipe(Effect.catchTag("InvalidArgs", () => Effect.void)))
)
const Always = Tool.make("always", { needsApproval: true, execute: () => Effect.void })
const Never = Tool.make("never", { needsApproval: false, execute: () => Effect.void })
const Sometimes = Tool.make("sometimes", {
  parameters: Schema.Struct({ n: Schema.Number }),
  needsApproval: ({ n }) => Effect.map(Limits, ({ max }) => n > max),
  execute: () => Effect.void
}).pipe(Tool.onError((call) => {
  holds<Equals<Effect.Error<typeof call>, ToolError.InvalidArgs>>()
  return call.pipe(Effect.catchTag("InvalidArgs", () => Effect.void))
}))

holds<Equals<Tool.Error<typeof Never>, ToolError.InvalidArgs | ToolError.InvalidResult>>()
holds<Equals<Tool.Error<typeof Always>, ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.NotApproved>>()
holds<Equals<Tool.Error<typeof Sometimes>, ToolError.InvalidResult | ToolError.NotApproved>>()
holds<Equals<Tool.Services<typeof Sometimes>, Limits>>()

const plain = Agent.make("plain", { tools: [Plain] })
holds<Equals<Agent.Error<typeof plain>, Own | ToolError.InvalidResult>>()
holds<Equals<Agent.Services<typeof plain>, LanguageModel.LanguageModel>>()

const asks = Agent.make("mayRequestApproval", { tools: [Plain, Sometimes] })
holds<Equals<Agent.Error<typeof asks>, Own | ToolError.InvalidResult | Approval.ApprovalRequired>>()
holds<Equals<Agent.Services<typeof asks>, LanguageModel.LanguageModel | Limits | Approval.SnapshotKey>>()

const started = asks.start("x")
holds<Equals<Effect.Error<typeof started>, Own | ToolError.InvalidResult>>()
holds<Equals<Effect.Success<typeof started>, Approval.Completed<string> | Approval.Paused>>()

const resumed = asks.resume({}, [])
holds<
  Equals<
    Effect.Error<typeof resumed>,
    Own | ToolError.InvalidResult | Approval.SnapshotRefused | Approval.DecisionRefused
  >
>()

// @ts-expect-error there is no such decision
asks.resume({}, [{ _tag: "Deny", callId: "c", argumentsHash: "00" }])

const decoded = Approval.decodeDecisions({})
holds<
  Equals<typeof decoded, Result.Result<ReadonlyArray<Approval.Decision>, Approval.DecisionRefused>>
>()

const oneKey = Redacted.make("a")
holds<Equals<Layer.Success<ReturnType<typeof Approval.layerKey>>, Approval.SnapshotKey>>()
Layer.succeed(Approval.SnapshotKey, oneKey)
Layer.succeed(Approval.SnapshotKey, { current: oneKey, earlier: [oneKey] })
// @ts-expect-error a key is redacted
Layer.succeed(Approval.SnapshotKey, { current: "a", earlier: [] })

// --- policies: only those that may ask make a run pause

const quiet = Agent.make("quiet", {
  tools: [Plain],
  policies: [
    Policy.make("either", ({ tool }) => tool === "plain" ? Policy.allow : Policy.deny("no")),
    Policy.make("substitute", () => Policy.substitute(1)).pipe(Policy.forTools("plain"))
  ]
})
holds<Equals<Agent.Error<typeof quiet>, Own | ToolError.InvalidResult>>()
holds<Equals<Agent.Services<typeof quiet>, LanguageModel.LanguageModel>>()

const loud = Agent.make("loud", {
  tools: [Plain],
  policies: [
    Policy.make("limits", () => Effect.map(Limits, ({ max }) => max > 1 ? Policy.allow : Policy.requireApproval()), {
      mayRequestApproval: true
    })
  ]
})
holds<Equals<Agent.Error<typeof loud>, Own | ToolError.InvalidResult | Approval.ApprovalRequired>>()
holds<Equals<Agent.Services<typeof loud>, LanguageModel.LanguageModel | Limits | Approval.SnapshotKey>>()

// What a policy declares is what its type says.
const always = Policy.make("ask", () => Policy.requireApproval(), { mayRequestApproval: true })
holds<Equals<Policy.VerdictOf<typeof always>, Policy.RequireApproval>>()
holds<Equals<(typeof always)["mayRequestApproval"], boolean>>()
const askAbout = () => Policy.make("allow", () => Policy.allow, { mayRequestApproval: true })
holds<Equals<Policy.VerdictOf<ReturnType<typeof askAbout>>, Policy.Allow | Policy.RequireApproval>>()
const either = <V extends Policy.Verdict>(verdict: V) =>
  Policy.make("either", () => verdict, { mayRequestApproval: true })
holds<Equals<Policy.VerdictOf<ReturnType<typeof either<Policy.Deny>>>, Policy.Deny | Policy.RequireApproval>>()
const allows = Policy.make("allow", () => Policy.allow)
holds<Equals<(typeof allows)["mayRequestApproval"], false>>()
const widened: Policy.Policy<Policy.Allow | Policy.RequireApproval, never> = allows
holds<Equals<Policy.VerdictOf<typeof widened>, Policy.Allow | Policy.RequireApproval>>()
// @ts-expect-error A policy that may require an approval has to declare it
Policy.make("ask", () => Policy.requireApproval())
// @ts-expect-error A policy that may require an approval has to declare it
Policy.make("ask", () => Effect.map(Limits, ({ max }) => max > 1 ? Policy.allow : Policy.requireApproval()))
// @ts-expect-error A policy that may require an approval has to declare it
Policy.make("ask", (): Policy.Verdict => Policy.allow)
declare const oneOf: { readonly _tag: "Allow" | "RequireApproval"; readonly reason: string }
// @ts-expect-error A policy that may require an approval has to declare it
Policy.make("ask", () => oneOf)
// @ts-expect-error A policy that may require an approval has to declare it
Policy.make("ask", () => Effect.succeed(oneOf))
// @ts-expect-error A policy that may require an approval has to declare it
Policy.make("ask", ({ tool }) => ({ _tag: tool === "plain" ? "Allow" : "RequireApproval", reason: "plain" }))
// @ts-expect-error A policy that may require an approval has to declare it
Policy.make("ask", ({ tool }) => tool === "plain" ? Policy.deny("no") : Effect.succeed(Policy.requireApproval()))
// @ts-expect-error A policy that may require an approval has to declare it
Policy.make("ask", (): Policy.Verdict | Effect.Effect<Policy.Verdict, never, unknown> => Policy.allow)
const oneTag = Policy.make("ask", () => oneOf, { mayRequestApproval: true })
holds<Equals<Policy.VerdictOf<typeof oneTag>, Policy.Allow | Policy.RequireApproval>>()
const noQuestion = Policy.make(
  "quiet",
  (): { readonly _tag: "Allow" | "Deny"; readonly reason: string } => Policy.deny("no")
)
holds<Equals<Policy.VerdictOf<typeof noQuestion>, Policy.Allow | Policy.Deny>>()
declare const madeByHand: Policy.Policy<typeof oneOf, never>
const asksWithoutMake = Agent.make("by hand", { tools: [Plain], policies: [madeByHand] })
holds<Equals<Agent.Error<typeof asksWithoutMake>, Own | ToolError.InvalidResult | Approval.ApprovalRequired>>()
// @ts-expect-error A policy that may require an approval has to declare it
Policy.make("ask", () => Policy.requireApproval(), { mayRequestApproval: false })
declare const perhaps: boolean
// @ts-expect-error A policy that may require an approval has to declare it
Policy.make("ask", () => Policy.requireApproval(), { asks: perhaps })
// @ts-expect-error there is no such declaration
Policy.make("ask", () => Policy.allow, { ask: true })
// @ts-expect-error what its verdicts do not say it cannot declare
const wrong: Policy.Policy<Policy.Allow, never> = { ...allows, mayRequestApproval: true }
void wrong

// --- policies and the rule for tainted runs name tools that there are

const deny = Policy.make("deny", () => Policy.deny("no"))
holds<Equals<Policy.NamesOf<typeof deny>, never>>()
const named = deny.pipe(Policy.forTools("plain", { name: "within" }))
holds<Equals<Policy.NamesOf<typeof named>, "plain">>()
holds<Equals<Policy.NamesOf<ReturnType<typeof Policy.maxCalls<"plain">>>, "plain">>()
const ordered = Policy.onlyAfter("plain", "status")
holds<Equals<Policy.NamesOf<typeof ordered>, "plain" | "status">>()
holds<Equals<Policy.VerdictOf<typeof ordered>, Policy.Allow | Policy.Deny>>()

Agent.make("a", {
  tools: [Plain],
  policies: [named, Policy.maxCalls("plain", 1)],
  onTainted: { allow: ["plain", Plain] }
})
Agent.make("a", { tools: [Plain], onTainted: "deny" })
Agent.make("a", {
  skills: [Skill.make("s", { description: "s", instructions: "s", tools: [Plain] })],
  policies: [named]
})
declare const anyName: string
Agent.make("a", { tools: [Plain], policies: [deny.pipe(Policy.forTools(anyName))], onTainted: { allow: [anyName] } })
// @ts-expect-error There is no "plan" here. Did you mean "plain"?
Agent.make("a", { tools: [Plain], policies: [deny.pipe(Policy.forTools("plan"))] })
// @ts-expect-error There is no "refund" here. There is plain.
Agent.make("a", { tools: [Plain], policies: [deny, Policy.maxCalls("refund", 1)] })
// @ts-expect-error There is no "look" here. There is plain.
Agent.make("a", { tools: [Plain], policies: [Policy.onlyAfter("plain", "look")] })
// @ts-expect-error There is no "plian" here. Did you mean "plain"?
Agent.make("a", { tools: [Plain], onTainted: { allow: ["plian"] } })
// @ts-expect-error There is no "plain" here. There are none.
Agent.make("a", { policies: [named] })

// --- coalesce is for reads

Tool.make("r", { effects: "read", coalesce: true, allowIdenticalCalls: true, execute: () => Effect.void })
// @ts-expect-error a write is done as often as it is called
Tool.make("w", { effects: "write", coalesce: true, execute: () => Effect.void })

// --- a transaction is for writes without a key, and may be rolled back

const Note = Tool.make("note", { effects: "write", transaction: true, timeout: "1 second", execute: () => Effect.void })
holds<
  Equals<
    Tool.Error<typeof Note>,
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | ToolError.OutcomeUnknown
    | ToolError.Timeout
    | ToolError.ExecutionError<Journal.TransactionFailed>
  >
>()
// @ts-expect-error a read has nothing to commit
Tool.make("r", { effects: "read", transaction: true, execute: () => Effect.void })

// --- an untrusted tool taints, and a tainted run may wait

const Fetch = Tool.make("fetch", { trust: "untrusted", effects: "read", execute: () => Effect.void })
holds<
  Equals<Tool.Error<typeof Fetch>, ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.NotApprovedOnceTainted>
>()

const reads = Agent.make("reads", { tools: [Fetch] })
holds<Equals<Agent.Services<typeof reads>, LanguageModel.LanguageModel | Approval.SnapshotKey>>()

const ask = { description: "", parameters: Schema.String, success: Schema.String } as const

// --- where tainted runs deny, they do not wait

declare const off: boolean
type Waits<A> = [Extract<Agent.Error<A>, Approval.ApprovalRequired>, Extract<Agent.Services<A>, Approval.SnapshotKey>]
type Asking = [Approval.ApprovalRequired, Approval.SnapshotKey]

const denies = Agent.make("a", { tools: [Fetch], onTainted: "deny" })
holds<Equals<Waits<typeof denies>, [never, never]>>()
const deniesCalls = Agent.forCalls("a", { tools: [Fetch], onTainted: "deny" })
holds<Equals<Waits<typeof deniesCalls>, [never, never]>>()
const deniesAndAsks = Agent.make("a", { tools: [Fetch, Always], onTainted: "deny" })
holds<Equals<Waits<typeof deniesAndAsks>, Asking>>()
const sometimesDenies = Agent.make("a", { tools: [Fetch], onTainted: off ? "deny" : "approve" })
holds<Equals<Waits<typeof sometimesDenies>, Asking>>()
const deniesOrNothing = Agent.make("a", { tools: [Fetch], ...(off ? { onTainted: "deny" as const } : {}) })
holds<Equals<Waits<typeof deniesOrNothing>, Asking>>()
const deniesOrUndefined = Agent.make("a", { tools: [Fetch], onTainted: off ? "deny" : undefined })
holds<Equals<Waits<typeof deniesOrUndefined>, Asking>>()

// What an agent within has read taints the agent around it, which asks where it says so.
const AskDenies = denies.pipe(Agent.asTool("ask", ask))
holds<Equals<Waits<ReturnType<typeof aroundDenies>>, [never, never]>>()
const aroundDenies = () => Agent.make("around", { tools: [AskDenies] })
const aroundAsks = Agent.make("around", { tools: [AskDenies], onTainted: "approve" })
holds<Equals<Waits<typeof aroundAsks>, Asking>>()
const allowsSome = Agent.forCalls("around", { tools: [AskDenies, Plain], onTainted: { allow: ["plain"] } })
holds<Equals<Waits<typeof allowsSome>, Asking>>()

// --- a call within an executor that waits makes the run wait

const CallsAlways = Tool.make("calls", { effects: "read", mayRequestApproval: true, execute: () => Always.call })
const callsAlways = Agent.make("a", { tools: [CallsAlways] })
holds<Equals<Waits<typeof callsAlways>, Asking>>()

// @ts-expect-error types are gone when it runs: it has to declare that it asks
Tool.make("calls", { effects: "read", execute: () => Always.call })
const Hides = Tool.make("hides", { effects: "read", execute: () => Effect.ignore(Always.call) })
holds<Equals<Waits<ReturnType<typeof hides>>, [never, never]>>()
const hides = () => Agent.make("a", { tools: [Hides] })
const Declares = Tool.make("declares", {
  effects: "read",
  mayRequestApproval: true,
  execute: () => Effect.ignore(Always.call)
})
const declares = Agent.make("a", { tools: [Declares] })
holds<Equals<Waits<typeof declares>, Asking>>()
declare const sometimes: boolean
const DeclaresSometimes = Tool.make("d", {
  ...(sometimes ? { mayRequestApproval: true as const } : {}),
  execute: () => Effect.ignore(Always.call)
})
holds<Equals<Waits<ReturnType<typeof asksSometimes>>, Asking>>()
const asksSometimes = () => Agent.make("a", { tools: [DeclaresSometimes] })

// @ts-expect-error no such trust
Tool.make("bad", { trust: "maybe", execute: () => Effect.void })

// --- an agent that is a tool pauses the run around it, if it may wait

const AskPlain = plain.pipe(Agent.asTool("ask", ask))
holds<
  Equals<
    Tool.Error<typeof AskPlain>,
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | ToolError.ExecutionError<Own | ToolError.InvalidResult>
  >
>()
holds<Equals<Tool.Services<typeof AskPlain>, LanguageModel.LanguageModel>>()

const AskAsks = asks.pipe(Agent.asTool("ask", ask))
holds<
  Equals<
    Tool.Error<typeof AskAsks>,
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | ToolError.ExecutionError<Own | ToolError.InvalidResult>
    | ToolError.NotApproved
  >
>()
holds<Equals<Tool.Services<typeof AskAsks>, LanguageModel.LanguageModel | Limits | Approval.SnapshotKey>>()

const around = Agent.make("around", { tools: [AskAsks] })
holds<
  Equals<
    Agent.Error<typeof around>,
    | Own
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | ToolError.ExecutionError<Own | ToolError.InvalidResult>
    | Approval.ApprovalRequired
  >
>()

// A key of its own is for its own snapshots: the run around it needs one too.
const AskKeyed = asks.pipe(Agent.provide(keys), Agent.asTool("ask", ask))
holds<Equals<Extract<Tool.Error<typeof AskKeyed>, ToolError.NotApproved>, ToolError.NotApproved>>()
holds<Equals<Tool.Services<typeof AskKeyed>, LanguageModel.LanguageModel | Limits>>()
const aroundKeyed = Agent.make("around", { tools: [AskKeyed] })
holds<Equals<Agent.Services<typeof aroundKeyed>, LanguageModel.LanguageModel | Limits | Approval.SnapshotKey>>()

// What is made of it waits as well.
const AskMade = asks.pipe(
  Agent.andThen(Agent.fromFunction("s", (text: string) => Effect.succeed(text))),
  Agent.asTool("ask", ask)
)
holds<
  Equals<
    Extract<Tool.Error<typeof AskMade>, { readonly _tag: "ExecutionError" | "NotApproved" }>,
    ToolError.ExecutionError<Own | ToolError.InvalidResult> | ToolError.NotApproved
  >
>()
// What a function runs by hand fails.
const byHand = Agent.fromFunction("by hand", (text: string) => asks.run(text))
const mixed = Agent.andThen(byHand, Agent.fromFunction("s", (text: string) => Effect.succeed(text)))
const startedMixed = mixed.start("x")
holds<
  Equals<Effect.Error<typeof startedMixed>, Own | ToolError.InvalidResult | Approval.ApprovalRequired>
>()
const interactiveMixed = mixed.pipe(Approval.interactive((call) => Effect.succeed(Approval.approve(call))))
holds<
  Equals<
    Agent.Error<typeof interactiveMixed>,
    Own | ToolError.InvalidResult | Approval.ApprovalRequired | Approval.DecisionRefused
  >
>()
const AskMixed = mixed.pipe(
  Agent.asTool("mixed", { description: "", parameters: Schema.String, success: Schema.String })
)
holds<
  Equals<
    Extract<Tool.Error<typeof AskMixed>, { readonly _tag: "ExecutionError" | "NotApproved" }>,
    ToolError.ExecutionError<Own | ToolError.InvalidResult | Approval.ApprovalRequired> | ToolError.NotApproved
  >
>()

// --- what an agent is given does not take away that it can be resumed

const provided = loud.pipe(Agent.provide(Layer.succeed(Limits, { max: 1 })))
holds<Equals<Agent.Services<typeof provided>, LanguageModel.LanguageModel | Approval.SnapshotKey>>()
const keyed = asks.pipe(Agent.provide(Layer.succeed(Limits, { max: 1 })))
const later = keyed.resume({}, [])
holds<Equals<Effect.Services<typeof later>, LanguageModel.LanguageModel | Approval.SnapshotKey>>()

const withKey = asks.pipe(Agent.provide(keys))
const resumedThere = withKey.resume({}, [])
holds<Equals<Effect.Services<typeof resumedThere>, LanguageModel.LanguageModel | Limits>>()

const again = provided.start("x")
holds<Equals<Effect.Services<typeof again>, LanguageModel.LanguageModel | Approval.SnapshotKey>>()

// --- interactive: the run asks and goes on, so that nothing waits

declare const person: (call: Approval.PendingCall) => Effect.Effect<Approval.Decision, "away", Limits>
const interactive = asks.pipe(Approval.interactive(person))
holds<Equals<Agent.Error<typeof interactive>, Own | ToolError.InvalidResult | Approval.DecisionRefused | "away">>()
holds<Equals<Agent.Services<typeof interactive>, LanguageModel.LanguageModel | Limits>>()
holds<Equals<Agent.Input<typeof interactive>, string>>()

const alone = asks.pipe(Approval.interactive((call) => Effect.succeed(Approval.approve(call))))
holds<Equals<Agent.Error<typeof alone>, Own | ToolError.InvalidResult | Approval.DecisionRefused>>()

// @ts-expect-error an agent that is a function cannot wait
Agent.fromFunction("f", (_: string) => Effect.void).pipe(Approval.interactive(person))
// @ts-expect-error a question is answered by a decision
asks.pipe(Approval.interactive(() => Effect.succeed(true)))

declare const required: Approval.ApprovalRequired
holds<Equals<typeof required.pending, ReadonlyArray<Approval.PendingCall>>>()
