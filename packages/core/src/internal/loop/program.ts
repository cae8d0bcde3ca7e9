/** Program: an agent put together, and the state of one run of it. */
import type * as Prompt from "effect/ai/Prompt"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { RunInbox } from "../../RunInbox.ts"
import type { Handler } from "../model/modelDecision.ts"
import type { Any as Policy } from "../../Policy.ts"
import type * as Skill from "../tool/skill.ts"
import type { RoundContext } from "../round/roundContext.ts"
import type { Presentation } from "../result/delivery.ts"
import type { AnyAnswerGuard, AnyGuard } from "../../Guardrail.ts"
import type { InputWriter } from "./inputText.ts"
import type { OutputReader } from "./outputText.ts"
import type { CallResult } from "../run/callResult.ts"
import type { TurnEvents } from "../model/modelTurnEvents.ts"
import type { Exchange } from "../foundation/effect/retriedFailures.ts"
import type { Run } from "../run/run.ts"
import type { Session } from "../run/session.ts"
import type { Compile } from "./tools/liveTools.ts"
import type { ToolSet } from "./tools/toolSet.ts"
import type { TurnPlan, TurnState } from "./turnPlan.ts"
import type { Transcript } from "../run/transcript.ts"

/** An agent's handling of a conversation that is too long. */
export interface Compaction {
  readonly maxTokens: number | undefined
  readonly by: (prompt: Prompt.Prompt) => Prompt.Prompt | Effect.Effect<Prompt.Prompt, unknown, unknown>
}

/** An agent, put together. */
export interface Program {
  readonly name: string
  readonly instructions: string | ((input: unknown) => string | Effect.Effect<string, unknown, unknown>) | undefined
  readonly input: InputWriter
  readonly prompt: ((input: unknown) => Prompt.RawInput) | undefined
  readonly output: OutputReader
  readonly tools: ToolSet
  /** Makes a tool that is listed while a run goes one of the agent; left out if the program has no turns. */
  readonly compile?: Compile | undefined
  /** Set if the program has no model: each run is given a call, and ends with its result. */
  readonly given: GivenCalls | undefined
  readonly skills: ReadonlyArray<ProgramSkill>
  /** Names a skill; absent, the model chooses among several. */
  readonly chooseSkill: ((input: unknown) => string | Effect.Effect<string, unknown, unknown>) | undefined
  readonly prepareTurn:
    | ((state: TurnState) => TurnPlan | undefined | Effect.Effect<TurnPlan | undefined, unknown, unknown>)
    | undefined
  readonly compaction: Compaction | undefined
  /** Checks the input, in parallel to the first model request. */
  readonly guardInput?: AnyGuard | undefined
  /** Looks at the final answer. */
  readonly guardOutput?: AnyAnswerGuard | undefined
  readonly onModelError: Handler<unknown, unknown, unknown> | undefined
  readonly concurrency: number | "unbounded"
  readonly repeatedFailures: number
  readonly repeatedCalls: number
  /** The most tools that a request offers; more are found by a tool. */
  readonly maxTools: number
  /** Number of characters of a result that the model reads; absent, the default. */
  readonly resultLimit: number | undefined
  readonly policies: ReadonlyArray<Policy>
  /** Further policy of a tainted run, depending on its ability to wait for a person. */
  readonly quarantine: (canPause: boolean) => Policy
  /** True if the agent's type includes a pause. */
  readonly mayAsk: boolean
  /** Time limit of an approval, in milliseconds. */
  readonly approvalTimeToLive: number
}

/** Execution of the given call by a program without a model, and its answer. */
export interface GivenCalls {
  readonly run: (state: Conversation, input: unknown) => Effect.Effect<unknown, unknown, unknown>
  readonly answer: (results: ReadonlyArray<CallResult>) => unknown
}

export interface ProgramSkill {
  readonly skill: Skill.Any
  /** The tools of an agent that has chosen the skill: its own and the skill's. */
  readonly tools: ToolSet
}

/** The tools of a run that has chosen a skill, or none. */
export const toolsWith = ({ skills, tools }: Program, chosen: string | undefined): ToolSet =>
  skills.find(({ skill }) => skill.name === chosen)?.tools ?? tools

/** True while events of model calls are delayed, because a guard has not passed; absent without a guard. */
export type Delay = (() => boolean) | undefined

/** One run of a program. */
export interface Conversation {
  /** True if the run can wait for a person: its caller can receive a pause, and there is a key to sign the snapshot. */
  readonly canPause: boolean
  readonly program: Program
  readonly run: Run
  readonly transcript: Transcript
  readonly session: Session
  /** The services of the run. */
  readonly context: Context.Context<never>
  /** State that transports share with the model call that runs, or ran last. */
  readonly exchange: Exchange
  readonly shown: Presentation
  /** The call that the run is made for, if its agent is a tool, or recovers one. */
  readonly within: RoundContext["within"]
  /** The events of the last model call. */
  events?: TurnEvents | undefined
  /** The inbox that the run reads, if it reads one. */
  readonly inbox?: RunInbox | undefined
}
