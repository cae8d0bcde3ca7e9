/** What durable agents ask of the types of their agents. */
import { Data, Effect, type Layer, Schema } from "effect"
import type { LanguageModel } from "effect/ai"
import { Agent, Recovery, type Runs, Tool } from "@recourse/core"
import { Durable, type RunStore, Signal } from "@recourse/durable"
import { type Equals, holds } from "../../core/typetest/assert.ts"

class Refused extends Schema.TaggedError<Refused>()("Refused", { why: Schema.String }) {}
class Lost extends Data.TaggedError("Lost") {}

type ErrorOf<D> = D extends Durable.Durable<never, infer _Out, infer E, infer _R> ? E : never

const refusing = Agent.fromFunction(
  "refusing",
  (_: string): Effect.Effect<string, Refused | Lost> => Effect.fail(new Lost())
)

// Each error of the program's own has a schema, or the compiler names the one that has none.
// @ts-expect-error An error of the agent has no schema
Durable.make(refusing)
// @ts-expect-error `Lost` has none
Durable.make(refusing, { errors: Refused })
const handled = Agent.fromFunction(
  "refusing",
  (text: string): Effect.Effect<string, Refused> =>
    Effect.catchTag(refusing.run(text), "Lost", () => Effect.succeed(""))
)
const durable = Durable.make(handled, { errors: Refused })
holds<Equals<ErrorOf<typeof durable>, Refused>>()

// Errors of the library need none.
const Look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.fail(new Lost()) })
const clerk = Durable.make(Agent.make("clerk", { tools: [Look], defaults: { onError: Recovery.keepGoing } }))
holds<Equals<ErrorOf<typeof clerk>, never>>()
holds<Equals<Durable.Services<typeof clerk>, LanguageModel.LanguageModel>>()

// An input or output that is no text has a schema.
const counting = Agent.fromFunction("counting", (n: number) => Effect.succeed(n))
// @ts-expect-error
Durable.make(counting)
Durable.make(counting, { input: Schema.Number, output: Schema.Number })

// What runs runs, starts runs: the layer gives it.
const Start = Tool.make("start", {
  effects: "idempotent",
  execute: () => Effect.asVoid(Effect.flatMap(Durable.childId(), (id) => Effect.orDie(clerk.start(id, "go"))))
})
const parent = Durable.make(Agent.make("parent", { tools: [Start], defaults: { onError: Recovery.keepGoing } }))
holds<Equals<Durable.Services<typeof parent>, LanguageModel.LanguageModel | Runs.Runs>>()
const runners = Durable.layer([parent, clerk])
type Needs<L> = L extends Layer.Layer<infer _A, infer _E, infer R> ? R : never
holds<Equals<Extract<Needs<typeof runners>, Runs.Runs>, never>>()

// A notification has its needs, which the runner has, too.
const asked = Durable.make(Agent.make("asked", {}), {
  approvals: { people: [{ to: "ada" }], notify: () => Effect.asVoid(Effect.ignore(Signal.send("r1", "asked", true))) }
})
holds<
  Equals<
    Durable.Services<typeof asked>,
    LanguageModel.LanguageModel | RunStore.RunStore
  >
>()
