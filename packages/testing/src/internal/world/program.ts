/** Programs that act on a world, and users' starts and resumptions of their runs. */
import { Effect, type Schema } from "effect"
import type { LanguageModel, Prompt } from "effect/ai"
import { type Agent, Approval, type Conversation, type IdempotencyLedger } from "@recourse/core"
import type { ScenarioOptions } from "../../Subject.ts"
import { decide, say } from "./chats.ts"
import type { Command } from "./commands.ts"
import type { CurrentWorld } from "./model.ts"
import { decisionsOf, type Waiting } from "./waiting.ts"

/**
 * Services that the kit provides to the agent: leave these to it, so that they can fail.
 *
 * @category models
 * @since 0.2.0
 */
export type Provided =
  | LanguageModel.LanguageModel
  | CurrentWorld
  | IdempotencyLedger.IdempotencyLedger
  | Approval.SnapshotKey

/**
 * Program that acts on the world.
 *
 * @category models
 * @since 0.2.0
 */
export interface Program<in out In, out Out, out E> {
  readonly agent: Agent.Agent<In, Out, E, Provided>
  /**
   * Later versions of the agent, with its name. Between two commands one of all versions may be deployed: paused runs and chats continue with
   * it. Default: there is one version.
   */
  readonly versions?: ReadonlyArray<Agent.Agent<In, Out, E, Provided>> | undefined
  /** Names of the tools that faults are injected into. */
  readonly tools: ReadonlyArray<string>
  readonly scenarios: Readonly<Record<string, ScenarioOptions<In>>>
  /**
   * Number of chats, if the agent takes a conversation: users' requests are then messages in one of them, by
   * `Conversation.send`, and `Conversation.resume` has the decisions. Default: each request is a run on its own.
   */
  readonly chats?: ([In] extends [Prompt.Prompt] ? number : never) | undefined
  /** The arguments that a person would change those of a call to. Default: they are left as they are. */
  readonly edit?: ((call: Approval.PendingCall) => { readonly [key: string]: Schema.Json }) | undefined
}

type Chatting<Out, E> =
  & Agent.Agent<Prompt.Prompt, Out, E, Provided>
  & Agent.Resumable<Prompt.Prompt, Out, E, Provided, Provided>

/** A user's request: a run on its own, or the answer to a message in a chat. */
export const ask = <In, Out, E>(
  { agent }: Program<In, Out, E>,
  input: In,
  thread: string | undefined
): Effect.Effect<unknown, unknown, Provided | Conversation.Conversations> =>
  thread === undefined
    ? agent.run(input)
    : say(agent as unknown as Chatting<Out, E>, thread, input as Prompt.Prompt)

/** Resumes a waiting run with a person's decision. */
export const goOn = <In, Out, E>(
  { agent, edit }: Program<In, Out, E>,
  waiting: Waiting,
  { decision }: Extract<Command, { readonly _tag: "Decide" }>
): Effect.Effect<unknown, unknown, Provided | Conversation.Conversations> => {
  const resumable = agent as unknown as Agent.Resumable<In, Out, E, Provided, Provided>
  const decisions = decisionsOf(waiting, decision, edit)
  return Effect.flatMap(
    waiting.thread === undefined
      ? resumable.resume(waiting.snapshot, decisions)
      : decide(
        agent as unknown as Chatting<Out, E>,
        waiting.thread,
        decisions
      ),
    (outcome): Effect.Effect<unknown, Approval.ApprovalRequired> =>
      outcome._tag === "Paused"
        ? Effect.fail(new Approval.ApprovalRequired({ agent: agent.name, snapshot: outcome.snapshot }))
        : Effect.succeed(outcome.output)
  )
}
