/** Served agents: agents by name, with their services. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import * as Agent from "@recourse/core/Agent"
import { InvalidInput } from "@recourse/core/AgentError"
import * as AgentEvent from "@recourse/core/AgentEvent"
import { ApprovalRequired, type Decision, Paused, type Snapshot } from "@recourse/core/Approval"
import * as Compensation from "@recourse/core/Compensation"
import * as Conversation from "@recourse/core/Conversation"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as RequestInput from "@recourse/core/RequestInput"
import { CurrentRunInbox, type RunInbox } from "@recourse/core/RunInbox"
import { Owner } from "@recourse/core/Runs"

/**
 * An agent that can be served: it takes a conversation, or a text, which is then the user's last message.
 *
 * @category models
 * @since 0.2.0
 */
export type Servable =
  | Agent.Agent<Prompt.Prompt, unknown, unknown, unknown>
  | Agent.Agent<string, unknown, unknown, unknown>

/** An agent without further services. Its events are passed to a function. */
export interface Served {
  readonly name: string
  /** The services that it runs with. */
  readonly services: Context.Context<never>
  /** Decodes the agent's JSON input; absent if it takes another one. */
  readonly read: (input: unknown) => Effect.Effect<unknown, InvalidInput>
  readonly start: (input: unknown, runId: string, around: Around) => Effect.Effect<Ended, unknown>
  readonly resume: (
    snapshot: Snapshot,
    decisions: ReadonlyArray<Decision>,
    around: Around
  ) => Effect.Effect<Ended, unknown>
}

/** Context of a run. */
export interface Around {
  readonly owner: string | undefined
  readonly syncListener: AgentEvent.SyncListener
  readonly inbox: RunInbox
}

/** The snapshot of a waiting run; `undefined` for an ended one. */
export type Ended = Snapshot | undefined

/** The text of the user's last message. */
const lastText = (prompt: Prompt.Prompt): string => {
  const last = prompt.content.findLast(({ role }) => role === "user")
  if (last === undefined || typeof last.content === "string") return ""
  return last.content.flatMap((part) => part.type === "text" ? [part.text] : []).join("")
}

/** True if the user's last message is a text without other parts, which an agent that takes text would not read. */
const isPlain = (prompt: Prompt.Prompt): boolean => {
  const last = prompt.content.findLast(({ role }) => role === "user")
  if (last === undefined || typeof last.content === "string") return true
  return !RequestInput.isAdded(last) && last.content.every(({ type }) => type === "text")
}

const serve = (agent: Servable, services: Context.Context<never>): Served => {
  const context = Context.add(services, AgentEvent.Details, true)
  const takesText = "takesText" in agent && agent.takesText === true
  // All events go to the function: a stream of the same events would have no reader.
  const execute = (
    run: Effect.Effect<unknown, unknown, unknown>,
    { inbox, owner, syncListener }: Around
  ): Effect.Effect<Ended, unknown> =>
    run.pipe(
      RequestInput.withTools,
      Effect.map((ended): Ended => ended instanceof Paused ? ended.snapshot : undefined),
      Effect.catchIf((error) => error instanceof ApprovalRequired, ({ snapshot }) => Effect.succeed(snapshot)),
      Effect.provideContext(context.pipe(
        Context.add(AgentEvent.CurrentSyncListener, syncListener),
        Context.add(Owner, owner),
        Context.add(CurrentRunInbox, inbox)
      ) as Context.Context<unknown>)
    )
  return {
    name: agent.name,
    services,
    read: (input) => {
      const prompt = typeof input === "string" ? Option.some(Prompt.make(input)) : Conversation.decode(input)
      return Option.match(prompt, {
        onNone: () =>
          Effect.fail(
            new InvalidInput({
              agent: agent.name,
              issues: [{ path: [], expected: "expected a text or a conversation", problem: "invalid" }]
            })
          ),
        onSome: (prompt) =>
          !takesText
            ? Effect.succeed(prompt)
            : isPlain(prompt)
            ? Effect.succeed(lastText(prompt))
            : Effect.fail(
              new InvalidInput({
                agent: agent.name,
                issues: [{
                  path: [],
                  expected:
                    "expected a message of text alone: the agent takes no files, and no tools or context of a page",
                  problem: "invalid"
                }]
              })
            )
      })
    },
    start: (input, runId, around) => execute(agent.run(input as never, { runId, streaming: true }), around),
    resume: (snapshot, decisions, around) =>
      Agent.isResumable(agent)
        ? execute(agent.resume(snapshot, decisions, { streaming: true }), around)
        : Effect.die(new Error(`Agent "${agent.name}" cannot wait`))
  }
}

const decodeRequest = Schema.decodeUnknownEffect(Compensation.Request)

/** The agent that compensates runs of an agent which have ended, if tools of it can. */
const compensating = (agent: Servable, services: Context.Context<never>): Served | undefined => {
  const compensator = Compensation.agent(agent as Agent.Agent<never, unknown, unknown, unknown>)
  if (compensator === undefined) return undefined
  const context = Context.add(services, AgentEvent.Details, true)
  return {
    name: compensator.name,
    services,
    read: (input) =>
      Effect.mapError(decodeRequest(input), () =>
        new InvalidInput({
          agent: compensator.name,
          issues: [{ path: [], expected: "expected a request of Compensation", problem: "invalid" }]
        })),
    start: (input, runId, { syncListener, owner }) =>
      Effect.as(
        Effect.provideContext(
          compensator.run(input as Compensation.Request, { runId }),
          Context.add(
            Context.add(context, AgentEvent.CurrentSyncListener, syncListener),
            Owner,
            owner
          ) as Context.Context<unknown>
        ),
        undefined
      ),
    resume: () => Effect.die(new Error(`Agent "${compensator.name}" cannot wait`))
  }
}

/** The agents by name. Two of one name are refused. */
export const servedAgents = (
  agents: ReadonlyArray<Servable>,
  context: Context.Context<never>
): ReadonlyMap<string, Served> => {
  const served = new Map<string, Served>()
  for (const agent of agents) {
    if (served.has(agent.name)) {
      throw new ConfigurationError({ subject: "Server", problem: `two agents have the name "${agent.name}"` })
    }
    served.set(agent.name, serve(agent, context))
    const compensator = compensating(agent, context)
    if (compensator !== undefined) served.set(compensator.name, compensator)
  }
  return served
}
