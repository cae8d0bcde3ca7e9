/** Subject of a test: an agent, its tools, and scenarios in which a scripted model plays its part. */
import { Layer, Predicate, type Types } from "effect"
import type { LanguageModel } from "effect/ai"
import {
  Agent,
  type Approval,
  type Budget,
  ConfigurationError,
  IdempotencyLedger,
  OptionCheck,
  type Tool
} from "@recourse/core"
import { snapshotKey } from "./internal/simulation/snapshotKey.ts"
import { type Behaviour, steps, type Turn } from "./ScriptedModel.ts"
import * as SideEffects from "./SideEffects.ts"

/**
 * The brand of subjects.
 *
 * @category type IDs
 * @since 0.2.0
 */
export const TypeId = "~@recourse/testing/Subject" as const

/**
 * Services that the kit provides to the agent. Leave the ledger to it, so that it can fail.
 *
 * @category models
 * @since 0.2.0
 */
export type Provided =
  | LanguageModel.LanguageModel
  | SideEffects.SideEffects
  | IdempotencyLedger.IdempotencyLedger
  | Approval.SnapshotKey

/**
 * A conversation that the agent is led through.
 *
 * @category models
 * @since 0.2.0
 */
export interface Scenario<out In> {
  readonly input: In
  readonly model: Behaviour
}

/**
 * A tested subject.
 *
 * @category models
 * @since 0.2.0
 */
export interface Subject<in out In, out Out, out E> {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly agent: Agent.Agent<In, Out, E, Provided>
  readonly tools: ReadonlyArray<Tool.Any>
  readonly budget: Budget.Budget
  readonly scenarios: Readonly<Record<string, Scenario<In>>>
  readonly failures: Readonly<Record<string, (fields: Readonly<Record<string, unknown>>) => unknown>>
  readonly outsiders: ReadonlyArray<string>
}

/**
 * True if a value is a subject.
 *
 * @category guards
 * @since 0.2.0
 */
export const isSubject = (u: unknown): u is Subject<unknown, unknown, unknown> =>
  typeof u === "object" && u !== null && TypeId in u

/** @internal Throws `ConfigurationError` for a value that is no subject. */
export const checkSubject = (user: string, subject: unknown): void =>
  OptionCheck.checkArgument(user, "its first argument", subject, {
    is: isSubject,
    called: "a subject: Subject.make({ agent, scenarios })"
  })

const anAgent: OptionCheck.Kind = {
  is: (value) => Predicate.hasProperty(value, Agent.TypeId),
  called: "an agent, such as Agent.make(\"shop\", { ... })"
}

/**
 * A scenario as it is declared: turns are played as `ScriptedModel.steps` plays them.
 *
 * @category options
 * @since 0.2.0
 */
export interface ScenarioOptions<out In> {
  /** The agent's input. */
  readonly input: In
  /** The scripted model, or the turns that it plays. */
  readonly model: Behaviour | readonly [Turn, ...ReadonlyArray<Turn>]
}

/**
 * Declares a tested subject.
 *
 * The kit provides the model, the record of side effects, the ledger of idempotency keys and the key of snapshots.
 * Provide the agent's other services before, by `Agent.provide`, with doubles that record their effects by
 * `SideEffects`. Scenarios are looked up by a case's `scenario`, else by its tool, else `default`. `tools` and `budget`
 * are the agent's own, and those of its inner agents; if a function is among these (`Agent.fromFunction`), the tools
 * have to be named. `failures` makes typed failures if recovery distinguishes them by class and not by tag; if secrets
 * are planted, it receives them in `message` and `cause`. `outsiders` are the tools that read untrusted text,
 * regardless of their declarations: web pages, mail, tickets. Default: those that declare `trust: "untrusted"`.
 *
 * Throws `ConfigurationError` without a scenario, and if the tools are unknown.
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = <In, Out, E, R extends Provided>(options: {
  readonly agent: Agent.Agent<In, Out, E, R>
  /** Default: those of the agent, and of the agents that it is made of. */
  readonly tools?: ReadonlyArray<Tool.Any> | undefined
  readonly scenarios: Readonly<Record<string, ScenarioOptions<Types.NoInfer<In>>>>
  /** Default: the agent's. */
  readonly budget?: Budget.Budget | undefined
  readonly failures?: Subject<In, Out, E>["failures"] | undefined
  readonly outsiders?: ReadonlyArray<string> | undefined
}): Subject<In, Out, E> => {
  OptionCheck.checkArgument("Subject.make", "its options", options, OptionCheck.anObject)
  const { agent, budget, failures, outsiders, scenarios } = options
  OptionCheck.checkArgument("Subject.make", "agent", agent, anAgent)
  OptionCheck.checkArgument("Subject.make", "scenarios", scenarios, OptionCheck.anObject)
  const tools = options.tools ?? agent.declared?.tools
  if (tools === undefined) {
    throw new ConfigurationError.ConfigurationError({
      subject: `Subject "${agent.name}"`,
      problem: "its tools are not known, because a function is a part of the agent: name them in `tools`"
    })
  }
  if (Object.keys(scenarios).length === 0) {
    throw new ConfigurationError.ConfigurationError({
      subject: `Subject "${agent.name}"`,
      problem: "there is no scenario: name one \"default\""
    })
  }
  return {
    [TypeId]: TypeId,
    name: agent.name,
    agent,
    tools,
    budget: budget ?? agent.declared?.budget ?? {},
    failures: failures ?? {},
    outsiders: outsiders ?? tools.filter(({ trust }) => trust === "untrusted").map(({ name }) => name),
    scenarios: Object.fromEntries(
      Object.entries(scenarios).map(([name, { input, model }]) => [
        name,
        { input, model: typeof model === "function" ? model : steps(model) }
      ])
    )
  }
}

/**
 * A layer of the kit's services besides the model, for separate runs of a subject's agent. None of them fails.
 *
 * @category layers
 * @since 0.2.0
 */
export const layer: Layer.Layer<Exclude<Provided, LanguageModel.LanguageModel>> = Layer.mergeAll(
  SideEffects.layer,
  IdempotencyLedger.layerMemory,
  snapshotKey
)
