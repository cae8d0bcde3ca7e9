/**
 * Policies: decisions about a call before it runs.
 *
 * Every policy of an agent sees each call whose arguments fit, also with arguments of a fixer or a person. The
 * strictest verdict wins: deny, then approval, then substitute, then allow. The order of the policies does not matter.
 * A call that is denied or waits does not reach `execute`, and no recovery sees it. All policies are consulted, whatever one of them says.
 */
import * as Effect from "effect/Effect"
import type * as Pipeable from "effect/Pipeable"
import { pipeArguments } from "effect/Pipeable"
import { ConfigurationError } from "./ConfigurationError.ts"
import { checkName } from "./internal/foundation/options/checkName.ts"
import { aFunction, checkArgument } from "./internal/foundation/options/optionCheck.ts"

/**
 * The call may run.
 *
 * @category models
 * @since 0.2.0
 */
export interface Allow {
  readonly _tag: "Allow"
}

/**
 * The call must not run. `reason` is for the audit: the model and the user do not read it.
 *
 * @category models
 * @since 0.2.0
 */
export interface Deny {
  readonly _tag: "Deny"
  readonly reason: string
}

/**
 * The call may run once a person has approved it with exactly these arguments. `reason` is for that person.
 *
 * @category models
 * @since 0.2.0
 */
export interface RequireApproval {
  readonly _tag: "RequireApproval"
  readonly reason: string | undefined
}

/**
 * The call does not run, and `result` is its answer, checked like the tool's own.
 *
 * @category models
 * @since 0.2.0
 */
export interface Substitute {
  readonly _tag: "Substitute"
  readonly result: unknown
}

/**
 * Verdict of a policy on a call.
 *
 * @category models
 * @since 0.2.0
 */
export type Verdict = Allow | Deny | RequireApproval | Substitute

/**
 * An earlier admitted call of the run, with its outcome.
 *
 * @category models
 * @since 0.2.0
 */
export interface EarlierCall {
  readonly tool: string
  readonly callId: string
  /** The arguments of the call in JSON: the model's own, or a fixer's. */
  readonly arguments: unknown
  /** Outcome of its last attempt; `"running"` while it runs. */
  readonly outcome: "running" | "success" | "failure" | "unknown" | "interrupted"
}

/**
 * The request that a policy decides about: a call whose arguments the tool's schema has accepted.
 *
 * @category models
 * @since 0.2.0
 */
export interface Request {
  readonly runId: string
  /** Names of the agents from the outermost to the one that makes the call. */
  readonly path: ReadonlyArray<string>
  readonly tool: string
  readonly callId: string
  readonly effects: Effects | undefined
  /** The decoded arguments. */
  readonly arguments: unknown
  /**
   * Names of the untrusted tools whose output the arguments may repeat: those that the run has read, and those that were read within
   * the call before the arguments were made. Empty: the arguments are not tainted.
   */
  readonly taintedBy: ReadonlyArray<string>
  /**
   * The calls of the run that have reached an executor or are about to, in their order, including those of nested
   * agents, those made by tools, and those before a pause. Excluded: this call, and calls that were denied, are
   * pending, or were answered without execution. A policy that reads them decides again if another call was admitted
   * meanwhile.
   */
  readonly calls: ReadonlyArray<EarlierCall>
}

/**
 * A policy; `V` are the verdicts it can come to, so that the compiler knows whether a run can pause, and `N` the names of the tools that it is
 * about, which an agent with the policy must have.
 *
 * @category models
 * @since 0.2.0
 */
export interface Policy<out V extends Verdict, out R, out N extends string = never> extends Pipeable.Pipeable {
  readonly name: string
  /** Names of tools that it is about. */
  readonly tools: ReadonlyArray<N>
  /** True if it may require an approval: informs the run as `V` informs the compiler. */
  readonly mayRequestApproval: (
    & Readonly<Record<"Allow" | "Deny" | "Substitute", false>>
    & Readonly<Record<"RequireApproval", boolean>>
  )[V["_tag"]]
  readonly decide: (request: Request) => Effect.Effect<V, never, R>
}

/**
 * Any policy.
 *
 * @category models
 * @since 0.2.0
 */
export interface Any extends Policy<Verdict, unknown, string> {}

/**
 * The verdicts that a policy can return.
 *
 * @category utility types
 * @since 0.2.0
 */
export type VerdictOf<P> = P extends Policy<infer V, infer _R, infer _N> ? Extract<Verdict, Record<"_tag", V["_tag"]>>
  : never

/**
 * Services of a policy.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Services<P> = P extends Policy<infer _V, infer R, infer _N> ? R : never

/**
 * The names of tools that a policy is about.
 *
 * @category utility types
 * @since 0.2.0
 */
export type NamesOf<P> = P extends Policy<infer _V, infer _R, infer N> ? N : never

/**
 * The call may run.
 *
 * @category constructors
 * @since 0.2.0
 */
export const allow: Allow = { _tag: "Allow" }

/**
 * The call must not run. The reason is for the audit.
 *
 * @category constructors
 * @since 0.2.0
 */
export const deny = (reason: string): Deny => ({ _tag: "Deny", reason })

/**
 * The call waits for a person. The reason is for that person.
 *
 * @category constructors
 * @since 0.2.0
 */
export const requireApproval = (reason?: string): RequireApproval => ({ _tag: "RequireApproval", reason })

/**
 * The call does not run; its answer is `result`, typed by the tool's `success` schema.
 *
 * @category constructors
 * @since 0.2.0
 */
export const substitute = (result: unknown): Substitute => ({ _tag: "Substitute", result })

const of = <V extends Verdict, R, N extends string = never>(
  name: string,
  decide: Policy<V, R>["decide"],
  mayRequestApproval: boolean,
  tools: ReadonlyArray<N> = []
): Policy<V, R, N> => ({
  name,
  decide,
  mayRequestApproval: mayRequestApproval as never,
  tools,
  pipe() {
    return pipeArguments(this, arguments)
  }
})

/**
 * Answer of a policy: a verdict, or an effect of one. The last type is of no answer: it separates an answer that does not
 * fit from one that may be any verdict.
 *
 * @category models
 * @since 0.2.0
 */
export type Answer = Verdict | Effect.Effect<Verdict, never, unknown> | Record<"_tag", "">

/**
 * The verdicts of an answer, by tag: `{ _tag: "Allow" | "Deny", ... }` is `Allow | Deny`.
 *
 * @category utility types
 * @since 0.2.0
 */
export type VerdictIn<A> = (A extends Effect.Effect<infer V, infer _E, infer _R> ? V : A) extends infer V
  ? V extends Record<"_tag", infer Tag> ? Extract<Verdict, Record<"_tag", Tag>> : never
  : never

/**
 * Requires that a policy which may require an approval declares it.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Declares<A, Asks> = [Asks] extends [true] ? unknown
  : [Record<"_tag", "">] extends [A] ? unknown // The answer is no verdict: the compiler reports that.
  : [Extract<VerdictIn<A>, RequireApproval>] extends [never] ? unknown
  : "A policy that may require an approval has to declare it: Policy.make(name, decide, { mayRequestApproval: true })"

/**
 * Makes a policy of a function. It cannot fail: say what a policy that cannot decide means, most often `deny`. One that may
 * answer `requireApproval` declares `mayRequestApproval: true`. An agent with such a policy can wait for a person, so that its rule for tainted runs
 * asks, too, and does not deny.
 *
 * **Example** (Requiring a person above a limit)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Policy } from "@recourse/core"
 *
 * const limit = Policy.make("limit", ({ arguments: args }) =>
 *   (args as { readonly amount: number }).amount > 100 ? Policy.requireApproval("above 100") : Policy.allow,
 *   { mayRequestApproval: true }
 * ).pipe(Policy.forTools("refund"))
 *
 * const request: Policy.Request = {
 *   runId: "r", path: ["a"], tool: "refund", callId: "c1", effects: "write", arguments: { amount: 500 }, taintedBy: [], calls: []
 * }
 * Effect.runSync(limit.decide(request))._tag // => "RequireApproval"
 * Effect.runSync(limit.decide({ ...request, tool: "search" }))._tag // => "Allow"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = <const A extends Answer, const Asks extends boolean = false>(
  name: string,
  decide: (request: Request) => A & Declares<A, Asks>,
  options?: { readonly mayRequestApproval: Asks }
): Policy<VerdictIn<A> | (true extends Asks ? RequireApproval : never), Effect.Services<A>> => {
  checkName("Policy.make", "policy", "limit", name)
  checkArgument(`Policy "${name}"`, "its decision", decide, aFunction)
  return of(
    name,
    (request) =>
      Effect.suspend(() => {
        const answer: Answer = decide(request)
        return Effect.isEffect(answer) ? answer : Effect.succeed(answer)
      }) as never,
    options?.mayRequestApproval === true
  )
}

/**
 * A tool that a policy is about: by its name, or by itself. An agent refuses a policy about an unknown tool name, so
 * that a typo disables no policy. A tool that only other tools call is named by itself.
 *
 * @category models
 * @since 0.2.0
 */
export type Named = string | Readonly<Record<"name", string>>

const nameOf = (tool: Named): string => typeof tool === "string" ? tool : tool.name

const checked = <T extends Named>(tools: ReadonlyArray<T>) =>
  tools.filter((tool) => typeof tool === "string") as unknown as ReadonlyArray<Extract<T, string>>

/**
 * Restricts a policy to the tools that are named; it allows the calls of all others.
 *
 * @category combinators
 * @since 0.2.0
 */
export const forTools = <const T extends ReadonlyArray<Named>>(...tools: T) => {
  const names = new Set(tools.map(nameOf))
  return <V extends Verdict, R, N extends string>(
    self: Policy<V, R, N>
  ): Policy<V | Allow, R, N | Extract<T[number], string>> =>
    of<V | Allow, R, N | Extract<T[number], string>>(
      self.name,
      (request) => names.has(request.tool) ? self.decide(request) : Effect.succeed(allow),
      self.mayRequestApproval,
      [...self.tools, ...checked<T[number]>(tools)]
    )
}

/**
 * A tool may be called so many times in a run, nested agents included; the calls beyond that are denied. A call counts once, however
 * often it is tried.
 *
 * **Example** (One refund, and only behind a look at the order)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Policy } from "@recourse/core"
 *
 * const once = Policy.maxCalls("refund", 1)
 * const looked = Policy.onlyAfter("refund", "find_order")
 *
 * const found = { tool: "find_order", callId: "c1", arguments: {}, outcome: "success" } as const
 * const request: Policy.Request = {
 *   runId: "r", path: ["a"], tool: "refund", callId: "c2", effects: "write", arguments: {}, taintedBy: [], calls: [found]
 * }
 * Effect.runSync(looked.decide(request))._tag // => "Allow"
 * Effect.runSync(looked.decide({ ...request, calls: [] }))._tag // => "Deny"
 * Effect.runSync(once.decide({ ...request, calls: [found, { ...found, tool: "refund" }] }))._tag // => "Deny"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const maxCalls = <const T extends Named>(
  tool: T,
  times: number
): Policy<Allow | Deny, never, Extract<T, string>> => {
  const name = nameOf(tool)
  if (!Number.isInteger(times) || times < 0) {
    throw new ConfigurationError({ subject: `Policy.maxCalls("${name}")`, problem: "times must be an integer >= 0" })
  }
  return of<Allow | Deny, never, Extract<T, string>>(
    `max_calls(${name})`,
    ({ calls, tool }) =>
      Effect.succeed(
        tool === name && calls.filter((call) => call.tool === name).length >= times
          ? deny(`${name} may be called ${times} times in a run`)
          : allow
      ),
    false,
    checked([tool])
  )
}

/**
 * Denies calls of a tool until a call of each of the others has succeeded in the run.
 *
 * @category constructors
 * @since 0.2.0
 */
export const onlyAfter = <const T extends Named, const B extends readonly [Named, ...ReadonlyArray<Named>]>(
  tool: T,
  ...before: B
): Policy<Allow | Deny, never, Extract<T | B[number], string>> => {
  const name = nameOf(tool)
  const needed = before.map(nameOf)
  return of<Allow | Deny, never, Extract<T | B[number], string>>(
    `only_after(${name})`,
    ({ calls, tool }) => {
      if (tool !== name) return Effect.succeed(allow)
      const missing = needed.find((other) =>
        !calls.some(({ outcome, tool }) => tool === other && outcome === "success")
      )
      return Effect.succeed(missing === undefined ? allow : deny(`${name} may be called only after ${missing}`))
    },
    false,
    checked<T | B[number]>([tool, ...before])
  )
}

/**
 * Repeatability of a tool.
 *
 * - `"read"`: has no side effects. May be retried.
 * - `"idempotent"`: two executions have the effect of one. May be retried.
 * - `"write"`: an attempt that reached the executor is never followed by another one, whatever recovery asks for, unless
 *   the tool declares `idempotency`.
 *
 * Left out: only the tool's own recovery ({@link onError}) may repeat it.
 *
 * @category models
 * @since 0.2.0
 */
export type Effects = "read" | "idempotent" | "write"
