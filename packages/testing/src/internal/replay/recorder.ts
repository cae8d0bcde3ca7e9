/** Recorder of a run: the answers of its model and its tools, and its events. */
import { Effect, type Exit } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import { type Agent, type AgentEvent, type Tool, ToolInterceptor } from "@recourse/core"
import { Approver, type Decide, run as runToEnd } from "../faults/approver.ts"
import { stored } from "../text/text.ts"
import { markNested } from "./nestedExecution.ts"
import { recordExecutions } from "./recordExecutions.ts"
import { type Execution, type ModelCall, type Pause, type Recording, version, type Writable } from "./recording.ts"
import { recordModel } from "./recordModel.ts"
import { redact, type RedactOptions } from "./redact.ts"

/**
 * Options of a recording.
 *
 * @category options
 * @since 0.2.0
 */
export interface RecordOptions {
  /** The agent's tools, and those of the agents in it: results are stored by their schemas. */
  readonly tools: ReadonlyArray<Tool.Any>
  /** True if model calls are streamed. Default: false. */
  readonly streaming?: boolean | undefined
  /**
   * Redaction of the recording, by {@link redact}. `false`: it contains all texts, and executors' errors with all
   * internals. Default: secrets.
   */
  readonly redact?: RedactOptions | false | undefined
  /**
   * Decides about waiting calls: the run continues over its pauses, and the decisions are recorded. Default: a waiting
   * run ends.
   */
  readonly decide?: Decide | undefined
}

/** An event without the conversation, which the calls of the model contain. */
const storedEvent = (event: AgentEvent.AgentEvent): AgentEvent.AgentEvent => {
  const parts = stored({
    ...event,
    transcript: undefined,
    compacted: undefined,
    replacedInput: undefined
  }) as AgentEvent.AgentEvent
  return event._tag === "RunFinished" ? { ...parts, transcript: Prompt.empty } as AgentEvent.AgentEvent : parts
}

/**
 * Runs an agent and records it: its exit, and the recording. The recording contains all texts to and from the model,
 * and tools' answers, without secrets unless `redact` is `false`; store it like transcripts.
 *
 * @category running
 * @since 0.2.0
 */
export const record = <In, Out, E, R>(
  agent: Agent.Agent<In, Out, E, R>,
  input: In,
  options: RecordOptions
): Effect.Effect<
  { readonly exit: Exit.Exit<Out, E>; readonly recording: Recording },
  never,
  R | LanguageModel.LanguageModel
> =>
  Effect.gen(function*() {
    const { streaming = false, tools } = options
    const events: Array<AgentEvent.AgentEvent> = []
    const modelCalls: Array<Writable<typeof ModelCall.Type>> = []
    const executions: Array<Writable<typeof Execution.Type>> = []
    const intercept = recordExecutions(executions, tools)
    const model = yield* LanguageModel.LanguageModel
    const outer = yield* ToolInterceptor.ToolInterceptor
    const pauses: Array<typeof Pause.Type> = []
    const mode = {
      streaming,
      sink: {
        emit: (event: AgentEvent.AgentEvent) => {
          events.push(storedEvent(event))
          return event._tag === "AgentStarted" || event._tag === "ToolCallStarted" ? markNested : Effect.void
        }
      }
    }
    const { decide } = options
    const running = decide === undefined
      ? agent.runIn(input, mode)
      : Effect.provideService(
        runToEnd(agent, input, {
          ...mode,
          onPause: ({ decisions, waited }) => pauses.push({ decisions, waited })
        }) as Effect.Effect<Out, E, R | Approver>,
        Approver,
        { decide }
      ) as Effect.Effect<Out, E, R>
    const exit = yield* Effect.exit(running).pipe(
      Effect.provideService(LanguageModel.LanguageModel, recordModel(model, modelCalls)),
      Effect.provideService(
        ToolInterceptor.ToolInterceptor,
        (execution, execute) => intercept(execution, outer?.(execution, execute) ?? execute)
      )
    )
    const recording: Recording = {
      version,
      agent: agent.name,
      input,
      streaming,
      events,
      modelCalls,
      executions,
      ...(pauses.length === 0 ? undefined : { pauses })
    }
    return {
      exit,
      recording: options.redact === false ? recording : yield* redact(recording, { ...options.redact, tools })
    }
  })
