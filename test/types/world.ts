/** Vocabulary of random programs: errors and services of their own, unforeseeable values, and their types as text. */
import type { LanguageModel } from "effect/ai"
import type { CircuitBreaker } from "effect/persistence"
import { Context, Data, Effect, Schema, SchemaGetter } from "effect"
import { type Agent, ErrorProjection, type Policy, type Tool, type ToolError } from "@recourse/core"

export class Down extends Data.TaggedError("Down") {}
export class Lost extends Data.TaggedError("Lost") {}
export class Mine extends Data.TaggedError("Mine") {}
export class Broken extends Data.TaggedError("Broken") {}
/** An error of the program that has a tag of the library's. */
export class OwnEscalation extends Data.TaggedError("Escalation") {
  readonly label = "OwnEscalation"
}
export class OwnTimeout extends Data.TaggedError("Timeout") {
  readonly label = "OwnTimeout"
}
export class OwnExecutionError extends Data.TaggedError("ExecutionError")<{ readonly reason: Down }> {
  readonly label = "OwnExecutionError"
}
export class OwnInvalidArgs extends Data.TaggedError("InvalidArgs") {
  readonly label = "OwnInvalidArgs"
}
export class OwnNotApproved extends Data.TaggedError("NotApproved") {
  readonly label = "OwnNotApproved"
}
/** Errors with tags that every object has a property of. */
export class OwnToString extends Data.TaggedError("toString") {
  readonly label = "OwnToString"
}
export class OwnConstructor extends Data.TaggedError("constructor") {
  readonly label = "OwnConstructor"
}
/** Declaration of `Down`: a code, possibly the name of an inherited property. */
export const declaredAs = (code: string) =>
  Schema.declare((u): u is Down => u instanceof Down).annotate(ErrorProjection.declare<Down>({ code }))

/** An error with a schema, like in declarations of `effect/ai` tools. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}

export class Alpha extends Context.Service<Alpha, { readonly on: true }>()("test/Alpha") {}
export class Beta extends Context.Service<Beta, { readonly on: true }>()("test/Beta") {}

export class Gamma extends Context.Service<Gamma, { readonly on: true }>()("test/Gamma") {}

/** A result that takes a service to be read, and another one to be written. */
export const Coded = Schema.NonEmptyString.pipe(
  Schema.decodeTo(Schema.NonEmptyString, {
    decode: SchemaGetter.transformEffect((text: string) => Effect.as(Gamma, text)),
    encode: SchemaGetter.transformEffect((text: string) => Effect.as(Beta, text))
  })
)

/** Facts of a run that the compiler cannot know. */
export interface World {
  readonly flag: () => boolean
  /** A name whose type is wider than itself. */
  readonly name: (name: string) => string
  readonly some: <const A>(list: ReadonlyArray<A>) => ReadonlyArray<A>
  /** Answers, or fails with one of the errors, at once or after 5 seconds. The answer may not fit a schema. */
  readonly act: <const E extends ReadonlyArray<unknown>>(...errors: E) => Effect.Effect<string, E[number]>
  /** Fails with one of the errors, or answers a value of the program's. */
  readonly decide: <A, const E extends ReadonlyArray<unknown>>(value: A, ...errors: E) => Effect.Effect<A, E[number]>
  /** An error of which the program only says that it is one. */
  readonly wide: () => globalThis.Error
  readonly verdict: () => Policy.Verdict
  /** Receives the uncompensated writes. */
  readonly left: (left: ReadonlyArray<ToolError.NotCompensated>) => Effect.Effect<void>
}

export const widened = <In, Out, R>(
  agent: Agent.Agent<In, Out, globalThis.Error, R>
): Agent.Agent<In, Out, globalThis.Error, R> => agent

export const widenedTool = <N extends string, P extends Schema.Top, S extends Schema.Top, R>(
  tool: Tool.Tool<N, P, S, globalThis.Error, R>
): Tool.Tool<N, P, S, globalThis.Error, R> => tool

type IsAny<T> = 0 extends 1 & T ? true : false

type NameOf<E> = E extends undefined ? "undefined"
  : E extends string ? "text"
  : E extends { readonly label: infer Label extends string } ? Label
  : E extends ToolError.ExecutionError<infer D> ? `ExecutionError(${NamesOf<D>})`
  : E extends { readonly _tag: infer Tag extends string } ? Tag
  : E extends globalThis.Error ? "Error"
  : "other"

type NamesOf<E> = IsAny<E> extends true ? "any" : unknown extends E ? "unknown" : NameOf<E>

type KeyOf<R> = R extends { readonly key: infer Key extends string } ? Key
  : R extends LanguageModel.LanguageModel ? "effect/ai/LanguageModel"
  : R extends CircuitBreaker.CircuitBreaker ? "~effect/persistence/CircuitBreaker"
  : "other"
type KeysOf<R> = IsAny<R> extends true ? "any" : unknown extends R ? "unknown" : KeyOf<R>

type Resumed<A> = A extends { readonly resume: (...args: never) => infer Resumed } ? Resumed : Effect.Effect<never>
type Started<A> = A extends { readonly start: (...args: never) => infer Started } ? Started : Effect.Effect<never>
type ErrorOf<F> = F extends Effect.Effect<infer _A, infer E, infer _R> ? E : never
type ServicesOf<F> = F extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

/** The types of a program. The members are looked up so that the compiler prints them expanded. */
export const declared = <A>(_: (c: World) => A): {
  readonly run: { readonly _: NamesOf<Agent.Error<A>> }["_"]
  readonly runNeeds: { readonly _: KeysOf<Agent.Services<A>> }["_"]
  readonly start: { readonly _: NamesOf<ErrorOf<Started<A>>> }["_"]
  readonly startNeeds: { readonly _: KeysOf<ServicesOf<Started<A>>> }["_"]
  readonly resume: { readonly _: NamesOf<ErrorOf<Resumed<A>>> }["_"]
  readonly resumeNeeds: { readonly _: KeysOf<ServicesOf<Resumed<A>>> }["_"]
} => undefined as never
