/** Effect of the functions among an agent's options on its error and service types, in each form that a program gives them. */
import { Context, Data, Effect, Layer, Schema } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { Agent, Budget, Guardrail, ModelError, Skill, Tool } from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

class Down extends Data.TaggedError("Down") {}
class Lost extends Data.TaggedError("Lost") {}
class Limits extends Context.Service<Limits, { readonly of: (text: string) => Effect.Effect<void, Down> }>()(
  "typetest/hooks/Limits"
) {}
class Names extends Context.Service<Names, string>()("typetest/hooks/Names") {}

declare const sometimes: boolean

type Own = AiError.AiError | Budget.BudgetExceeded
type Model = LanguageModel.LanguageModel

const checks = <A>(_: A): Effect.Effect<void, Down, Limits> => Effect.flatMap(Limits, ({ of }) => of(""))

// --- each option, with one function that fails and needs a service

const guarded = Agent.make("a", { guardInput: (text) => checks(text.length) })
holds<Equals<Agent.Error<typeof guarded>, Own | Down>>()
holds<Equals<Agent.Services<typeof guarded>, Model | Limits>>()

const judged = Agent.make("a", {
  output: Schema.Struct({ n: Schema.Int }),
  guardOutput: ({ n }, { transcript }) => n > transcript.content.length ? checks(n) : Effect.fail(new Lost())
})
holds<Equals<Agent.Error<typeof judged>, Own | Down | Lost | Agent.Error<typeof structured>>>()
holds<Equals<Agent.Services<typeof judged>, Model | Limits>>()
const structured = Agent.make("a", { output: Schema.Struct({ n: Schema.Int }) })

const handled = Agent.make("a", {
  onModelError: (error, { attempt }) =>
    error.isRetryable && attempt < 2 ? ModelError.retry({ times: 1 }) : Effect.as(checks(0), ModelError.rethrow)
})
holds<Equals<Agent.Error<typeof handled>, Own | Down>>()
holds<Equals<Agent.Services<typeof handled>, Model | Limits>>()

const extended = Agent.make("a", {
  onBudgetExceeded: ({ used }) => Effect.map(Names, () => Budget.extend({ turns: used }))
})
holds<Equals<Agent.Error<typeof extended>, Own>>()
holds<Equals<Agent.Services<typeof extended>, Model | Names>>()

const One = Skill.make("one", { description: "" })
const chosen = Agent.make("a", { skills: [One], skill: (text) => text === "" ? "one" : Effect.as(checks(text), "one") })
holds<Equals<Extract<Agent.Error<typeof chosen>, Down>, Down>>()
holds<Equals<Agent.Services<typeof chosen>, Model | Limits>>()

const reported = Agent.make("a", {
  compensation: { report: (left) => left.length > 0 ? Effect.asVoid(Names) : Effect.void }
})
holds<Equals<Agent.Error<typeof reported>, Own>>()
holds<Equals<Agent.Services<typeof reported>, Model | Names>>()

const Inner = Tool.make("inner", { effects: "write", execute: () => Effect.asVoid(Names), compensate: () => Limits })
const undone = Agent.make("a", { compensation: { tools: [Inner] } })
holds<Equals<Agent.Services<typeof undone>, Model | Names | Limits>>()
const both = Agent.make("a", { compensation: { tools: [Inner], report: () => Effect.succeed(1) } })
holds<Equals<Agent.Services<typeof both>, Model | Names | Limits>>()

// --- all at once

const all = Agent.make("a", {
  instructions: (text) => text === "" ? Effect.fail(new Lost()) : text,
  guardInput: (text) => checks(text),
  guardOutput: () => Effect.void,
  onBudgetExceeded: () => Effect.as(Names, undefined)
})
holds<Equals<Agent.Error<typeof all>, Own | Down | Lost>>()
holds<Equals<Agent.Services<typeof all>, Model | Limits | Names>>()

// --- an effect whose types only its context could say

const called = Agent.make("a", { guardInput: () => Effect.callback<void>((resume) => resume(Effect.void)) })
holds<Equals<Agent.Error<typeof called>, Own>>()
holds<Equals<Agent.Services<typeof called>, Model>>()

const generated = Agent.make("a", {
  guardOutput: (text) =>
    Effect.gen(function*() {
      yield* checks(text)
      return text === "" ? Guardrail.change("none") : undefined
    }),
  prepareTurn: Effect.fnUntraced(function*() {
    yield* checks(1)
    return {}
  })
})
holds<Equals<Agent.Error<typeof generated>, Own | Down>>()
holds<Equals<Agent.Services<typeof generated>, Model | Limits>>()

declare const settled: <E = never, R = never>(
  ..._: ReadonlyArray<Effect.Effect<unknown, E, R>>
) => Effect.Effect<void, E, R>
const settles = Agent.make("a", { guardInput: () => settled() })
holds<Equals<Agent.Error<typeof settles>, Own>>()
holds<Equals<Agent.Services<typeof settles>, Model>>()

const piped = Agent.make("a", {
  guardInput: (text) =>
    checks(text).pipe(
      Effect.catchTag("Down", () => Effect.fail(new Lost())),
      Effect.andThen(Effect.all([Names, Effect.succeed(1)])),
      Effect.timeoutOrElse({ duration: "1 second", orElse: () => Effect.fail(new Down()) }),
      Effect.provideService(Names, "x"),
      Effect.asVoid
    ),
  guardOutput: (text) =>
    Effect.forEach([text, ""], checks).pipe(
      Effect.catch(() => Effect.succeed([])),
      Effect.map(() => Guardrail.change("x")),
      Effect.mapError(() => new Lost())
    ),
  onModelError: Effect.fn("handler")(function*(error) {
    if (error.isRetryable) yield* new Lost()
    return ModelError.rethrow
  })
})
holds<Equals<Agent.Error<typeof piped>, Own | Down | Lost>>()
holds<Equals<Agent.Services<typeof piped>, Model | Limits>>()
const caught = Agent.make("a", {
  guardInput: (text) => checks(text).pipe(Effect.catchTag("Down", () => Effect.void)),
  guardOutput: (text) =>
    checks(text).pipe(Effect.catchTags({ Down: () => Effect.void }), Effect.provide(Layer.mock(Limits, {})))
})
holds<Equals<Agent.Error<typeof caught>, Own>>()
holds<Equals<Agent.Services<typeof caught>, Model | Limits>>()

// --- an option that is there only sometimes

const optional = Agent.make("a", {
  instructions: "",
  ...(sometimes ? { guardInput: (text: string) => checks(text) } : {})
})
holds<Equals<Agent.Error<typeof optional>, Own | Down>>()
const conditional = Agent.make("a", { guardInput: sometimes ? (text) => checks(text) : undefined })
holds<Equals<Agent.Error<typeof conditional>, Own | Down>>()
const oneOfTwo = Agent.make("a", {
  guardInput: sometimes ? (text: string) => checks(text) : () => Effect.fail(new Lost())
})
holds<Equals<Agent.Error<typeof oneOfTwo>, Own | Down | Lost>>()

// --- options that are declared before

const kept = { instructions: "Be kind.", guardInput: (text: string) => checks(text) }
const ofKept = Agent.make("a", kept)
holds<Equals<Agent.Error<typeof ofKept>, Own | Down>>()

// --- within a generic function

const withGuard = <E, R>(guardInput: Guardrail.Guard<string, E, R>) => Agent.make("a", { guardInput })
const ofLost = withGuard(() => Effect.fail(new Lost()))
holds<Equals<Agent.Error<typeof ofLost>, Own | Lost>>()
holds<Equals<Agent.Services<typeof ofLost>, Model>>()
const withMaybe = <E, R>(guardInput?: Guardrail.Guard<string, E, R>) => Agent.make("a", { guardInput })
holds<Equals<Agent.Error<ReturnType<typeof withMaybe<Lost, Names>>>, Own | Lost>>()
holds<Equals<Agent.Services<ReturnType<typeof withMaybe<Lost, Names>>>, Model | Names>>()

// --- wrong use

// @ts-expect-error a guard answers an effect
Agent.make("a", { guardInput: (text) => text })

// @ts-expect-error it checks a text
Agent.make("a", { guardInput: (n: number) => checks(n) })

// @ts-expect-error the answer is a number
Agent.make("a", { output: Schema.Int, guardOutput: () => Effect.succeed(Guardrail.change("none")) })

// @ts-expect-error a handler that is called at a cap cannot fail
Agent.make("a", { onBudgetExceeded: () => Effect.fail(new Lost()) })

// @ts-expect-error a report cannot fail
Agent.make("a", { compensation: { report: () => Effect.fail(new Lost()) } })
