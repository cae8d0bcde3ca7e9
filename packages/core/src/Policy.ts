/**
 * Policies: decisions about a call before it runs.
 *
 * Every policy of an agent sees each call whose arguments fit, also with arguments of a fixer or a person. The
 * strictest verdict wins: deny, then approval, then substitute, then allow. The order of the policies does not matter.
 * A call that is denied or waits does not reach `execute`, and no recovery sees it.
 */
import * as Effect from "effect/Effect"
import type * as Pipeable from "effect/Pipeable"
import { pipeArguments } from "effect/Pipeable"

/** The call may run. */
export interface Allow {
  readonly _tag: "Allow"
}

/** The call must not run. `reason` is for the audit: the model and the user are not told it. */
export interface Deny {
  readonly _tag: "Deny"
  readonly reason: string
}

/** The call may run once a person has approved it with exactly these arguments. `reason` is for that person. */
export interface RequireApproval {
  readonly _tag: "RequireApproval"
  readonly reason: string | undefined
}

/** The call does not run, and `result` is its answer, checked like the tool's own. */
export interface Substitute {
  readonly _tag: "Substitute"
  readonly result: unknown
}

/** What a policy says about a call. */
export type Verdict = Allow | Deny | RequireApproval | Substitute

/** The request that a policy decides about: a call whose arguments the tool's schema has accepted. */
export interface Request {
  readonly runId: string
  /** Names of the agents from the outermost to the one that makes the call. */
  readonly path: ReadonlyArray<string>
  readonly tool: string
  readonly callId: string
  readonly effects: Effects | undefined
  /** The decoded arguments. */
  readonly arguments: unknown
  /** Names of the untrusted tools whose output the run has read. Empty: the run is not tainted. */
  readonly taintedBy: ReadonlyArray<string>
}

/** A policy; `V` are the verdicts it can come to, so that the compiler knows whether a run can pause. */
export interface Policy<out V extends Verdict, out R> extends Pipeable.Pipeable {
  readonly name: string
  readonly decide: (request: Request) => Effect.Effect<V, never, R>
}

/** Any policy. */
export interface Any extends Policy<Verdict, unknown> {}

/** The verdicts that a policy can come to. */
export type VerdictOf<P> = P extends Policy<infer V, infer _R> ? V : never

/** What a policy needs. */
export type Services<P> = P extends Policy<infer _V, infer R> ? R : never

/** The call may run. */
export const allow: Allow = { _tag: "Allow" }

/** The call must not run. The reason is for the audit. */
export const deny = (reason: string): Deny => ({ _tag: "Deny", reason })

/** The call waits for a person. The reason is for that person. */
export const requireApproval = (reason?: string): RequireApproval => ({ _tag: "RequireApproval", reason })

/** The call does not run; this is its answer, as the tool's `success` schema types it. */
export const substitute = (result: unknown): Substitute => ({ _tag: "Substitute", result })

const of = <V extends Verdict, R>(name: string, decide: Policy<V, R>["decide"]): Policy<V, R> => ({
  name,
  decide,
  pipe() {
    return pipeArguments(this, arguments)
  }
})

type Answer = Verdict | Effect.Effect<Verdict, never, unknown>

type VerdictIn<A> = A extends Effect.Effect<infer V, infer _E, infer _R> ? V : A

type ServicesIn<A> = A extends Effect.Effect<infer _V, infer _E, infer R> ? R : never

/**
 * Makes a policy of a function. It cannot fail: say what a policy that cannot decide means, most often `deny`.
 *
 * **Example** (Nothing above a limit without a person)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Policy } from "@recourse/core"
 *
 * const limit = Policy.make("limit", ({ arguments: args }) =>
 *   (args as { readonly amount: number }).amount > 100 ? Policy.requireApproval("above 100") : Policy.allow
 * ).pipe(Policy.forTools("refund"))
 *
 * const request: Policy.Request = {
 *   runId: "r", path: ["a"], tool: "refund", callId: "c1", effects: "write", arguments: { amount: 500 }, taintedBy: []
 * }
 * Effect.runSync(limit.decide(request))._tag // => "RequireApproval"
 * Effect.runSync(limit.decide({ ...request, tool: "search" }))._tag // => "Allow"
 * ```
 */
export const make = <const A extends Answer>(
  name: string,
  decide: (request: Request) => A
): Policy<Extract<VerdictIn<A>, Verdict>, ServicesIn<A>> =>
  of(name, (request) =>
    Effect.suspend(() => {
      const answer: Answer = decide(request)
      return (Effect.isEffect(answer) ? answer : Effect.succeed(answer)) as never
    }))

/** Restricts a policy to the tools that are named; it allows the calls of all others. */
export const forTools =
  (...tools: ReadonlyArray<string>) => <V extends Verdict, R>(self: Policy<V, R>): Policy<V | Allow, R> =>
    of<V | Allow, R>(
      self.name,
      (request) => tools.includes(request.tool) ? self.decide(request) : Effect.succeed(allow)
    )

/**
 * How repeatable a tool is.
 *
 * - `"read"`: has no side effects. May be retried.
 * - `"idempotent"`: running it twice does what running it once does. May be retried.
 * - `"write"`: an attempt that reached the executor is never followed by another one, whatever recovery asks for, unless
 *   the tool declares `idempotency`.
 *
 * Left out: only the tool's own recovery ({@link onError}) may repeat it.
 */
export type Effects = "read" | "idempotent" | "write"
