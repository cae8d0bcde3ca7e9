/** The agent interface, and agents that are functions. */
import type * as Context from "effect/Context"
import * as RunUsage from "../../RunUsage.ts"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Pipeable from "effect/Pipeable"
import { pipeArguments } from "effect/Pipeable"
import type * as Stream from "effect/Stream"
import * as Prompt from "effect/ai/Prompt"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import type { Budget } from "../../Budget.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { type Limits, type Mode, plain } from "./runMode.ts"
import { withinLimits } from "./boundary.ts"
import type { Body } from "./runBody.ts"
import { withAnswer } from "../history/continuation.ts"
import { otherRunNames } from "../foundation/options/foreignOptionNames.ts"
import {
  aBoolean,
  anything,
  aString,
  checkArgument,
  checkOptions,
  type Kind
} from "../foundation/options/optionCheck.ts"
import type * as Tool from "../tool/tool.ts"
import type { Forms } from "./resume/valueCodec.ts"
import { eventStream, type StreamOptions } from "./eventStream.ts"
import { emptyTranscript, noRunMessages, type RunRecord, type RunReport } from "../run/runEntries.ts"

/**
 * The brand of agents.
 *
 * @category type IDs
 * @since 0.2.0
 */
export const TypeId = "~@recourse/core/Agent" as const

/** An agent, made by any constructor or combinator. */
export const anAgent: Kind = {
  is: (value) => Predicate.hasProperty(value, TypeId),
  called: "an agent, such as Agent.make(\"assistant\", { ... })"
}

/**
 * Start options of a run.
 *
 * @category options
 * @since 0.2.0
 */
export interface RunOptions {
  /**
   * The id of the run: of its events, its record and its spans, and a part of the default idempotency keys of its calls. A
   * program that begins the same run again, after a crash for example, gives the id that it gave before: then the same call
   * has the same key. Two runs that are not the same need two ids. A run within another one has that one's. Default: random.
   */
  readonly runId?: string | undefined
  /**
   * True if the agent requests a stream of the model, so that listeners receive an answer while it is written. An
   * answer that breaks off behind its first part is then restarted only by `ModelError.retry({ restart: true })`.
   * Default: false; `stream` always does.
   */
  readonly streaming?: boolean | undefined
}

/**
 * Something that can be run with an input.
 *
 * **Example** (Any agent from text to text)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * const twice = <E, R>(agent: Agent.Agent<string, string, E, R>) => agent.run("a").pipe(Effect.flatMap(agent.run))
 *
 * await Effect.runPromise(twice(Agent.fromFunction("double", (text: string) => Effect.succeed(text + text)))) // => "aaaa"
 * ```
 *
 * @category models
 * @since 0.2.0
 */
export interface Agent<in In, out Out, out E = never, out R = never> extends Pipeable.Pipeable {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  /** Runs the agent. */
  readonly run: (input: In, options?: RunOptions) => Effect.Effect<Out, E, R>
  /**
   * Runs the agent with streamed model calls; ends after the `RunFinished` event, and fails as `run` fails. A slow consumer
   * slows the run down, one that goes away interrupts it.
   */
  readonly stream: (input: In, options?: StreamOptions & RunOptions) => Stream.Stream<AgentEvent, E, R>
  /** Runs the agent and returns its exit and its record. Does not fail. */
  readonly report: (input: In, options?: RunOptions) => Effect.Effect<RunReport<Out, E>, never, R>
  /** @internal */
  readonly runIn: (input: In, mode: Mode) => Effect.Effect<Out, E, R>
  /** @internal Parts of an agent of `Agent.make` or `Agent.forCalls`. */
  readonly declared?: Declared | undefined
}

/** @internal Parts of an agent that other agents may take from it. */
export interface Declared {
  /** Its tools, including those of its skills; absent if they are unknown. */
  readonly tools: ReadonlyArray<Tool.Any> | undefined
  /** Its own tools and those of its inner agents, as far as they are known. */
  readonly ownTools: () => ReadonlyArray<Tool.Own>
  readonly budget: Budget
  /** Codecs of its input and its output, if it is made of agents. */
  readonly forms?: Forms | undefined
}

/**
 * Any agent.
 *
 * @category models
 * @since 0.2.0
 */
export interface Any extends Agent<never, unknown, unknown, unknown> {}

/** The tools of an agent, and of those that it is made of, with whose they are. */
export const ownToolsOf = ({ declared }: Any): ReadonlyArray<Tool.Own> => declared?.ownTools() ?? []

/**
 * Input type of an agent.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Input<A> = A extends Agent<infer In, infer _Out, infer _E, infer _R> ? In : never

/**
 * Output type of an agent.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Output<A> = A extends Agent<infer _In, infer Out, infer _E, infer _R> ? Out : never

/**
 * Error type of an agent.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Error<A> = A extends Agent<infer _In, infer _Out, infer E, infer _R> ? E : never

/**
 * Services of an agent.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Services<A> = A extends Agent<infer _In, infer _Out, infer _E, infer R> ? R : never

const Proto = {
  [TypeId]: TypeId,
  pipe() {
    return pipeArguments(this, arguments)
  }
}

/** The record of a run that did not start: the agent's services could not be built. */
const notStarted = (agent: string): RunRecord => ({
  runId: "",
  agent,
  transcript: emptyTranscript,
  usage: RunUsage.none,
  taintedBy: [],
  executed: []
})

const report = <In, Out, E, R>(
  name: string,
  runIn: Agent<In, Out, E, R>["runIn"],
  input: In,
  options: RunOptions | undefined
): Effect.Effect<RunReport<Out, E>, never, R> =>
  Effect.suspend(() => {
    let record: RunRecord | undefined
    const onRecord = (ended: () => RunRecord) => {
      record = ended()
    }
    return Effect.map(Effect.exit(runIn(input, withOptions({ streaming: false, onRecord }, options))), (exit) => ({
      ...record ?? notStarted(name),
      exit
    }))
  })

const runKinds: Readonly<Record<keyof (RunOptions & StreamOptions), Kind>> = {
  runId: aString,
  streaming: aBoolean,
  bufferSize: anything
}

/** @internal A mode with the program's options of the run. Throws `ConfigurationError` for options that the compiler refuses. */
export const withOptions = (mode: Mode, options: RunOptions | undefined): Mode => {
  if (options !== undefined) checkOptions("A run", options, { kinds: runKinds, otherNames: otherRunNames })
  return options?.runId === undefined && options?.streaming !== true
    ? mode
    : { ...mode, runId: options.runId, streaming: mode.streaming || options.streaming === true }
}

/** An agent of the way in which it is run. */
export const fromExecute = <In, Out, E, R>(
  name: string,
  runIn: Agent<In, Out, E, R>["runIn"],
  declared?: Declared
): Agent<In, Out, E, R> =>
  Object.assign(Object.create(Proto), {
    name,
    declared,
    runIn,
    run: (input: In, options?: RunOptions) => runIn(input, withOptions(plain, options)),
    stream: (input: In, options?: StreamOptions & RunOptions) =>
      eventStream((mode) => runIn(input, withOptions(mode, options)), options),
    report: (input: In, options?: RunOptions) => report(name, runIn, input, options)
  })

/** A name that an agent may have. */
export const named = (name: string): string => {
  checkArgument("Agent", "its name", name, aString)
  if (name === "") throw new ConfigurationError({ subject: "Agent", problem: "an agent needs a name" })
  return name
}

/** Limits of an agent that has none of its own. */
export const unbounded = (name: string): Limits<never> => ({
  name,
  caps: {},
  thresholds: undefined,
  isLevel: false,
  onExceeded: undefined
})

/** Answers a conversation without a model: the conversation continues with the answer. */
const answering = <Out, E, R>(prompt: Prompt.Prompt, effect: Effect.Effect<Out, E, R>): Body<Out, E, R> => {
  let said = prompt
  return {
    run: (run) =>
      Effect.tap(effect, (answer) =>
        Effect.sync(() => {
          said = withAnswer(prompt, answer, run.reading.taintedBy)
        })),
    said: () => ({ transcript: said })
  }
}

/** An agent without a conversation of its own around an effect. */
export const around = <In, Out, E, R>(
  name: string,
  run: (input: In) => Effect.Effect<Out, E, R>
): Agent<In, Out, E, R> => {
  const limits = unbounded(named(name))
  return fromExecute(name, (input, mode) => {
    const body: Body<Out, E, R> = Prompt.isPrompt(input) ? answering(input, run(input)) : {
      run: () => run(input),
      said: () => noRunMessages
    }
    return Effect.contextWith((context: Context.Context<never>) =>
      withinLimits(context, limits, mode, input, body)
    ) as Effect.Effect<Out, E, R>
  })
}

/**
 * An agent that is a function: deterministic, without a model.
 *
 * **Example** (A fixer that costs no model call)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * const double = Agent.fromFunction("double", (n: number) => Effect.succeed(n * 2))
 *
 * await Effect.runPromise(double.run(21)) // => 42
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const fromFunction: <In, Out, E = never, R = never>(
  name: string,
  run: (input: In) => Effect.Effect<Out, E, R>
) => Agent<In, Out, E, R> = around
