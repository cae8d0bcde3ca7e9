/** Reading of a run: the words that its model has read, and the tools that it is offered. */
import type * as Prompt from "effect/ai/Prompt"

export interface Reading {
  /** Untrusted tools whose words the run has read, with those that the runs around it had read when it started. */
  readonly taintedBy: ReadonlyArray<string>
  /** The skill that the agent has chosen for this run. */
  readonly skill: string | undefined
  /** The messages of the agent's last request to the model, if events include requests. */
  readonly requested: ReadonlyArray<Prompt.Message>
  /** Tools that are left out of requests until a time, in milliseconds since the epoch. */
  readonly hidden: ReadonlyMap<string, number>
}

const noTools: ReadonlyMap<string, number> = new Map()
const noMessages: ReadonlyArray<Prompt.Message> = []

class State implements Reading {
  /** One array for the whole run: the transcript holds it too. */
  readonly taintedBy: Array<string>
  skill: string | undefined
  requested = noMessages
  hidden: ReadonlyMap<string, number>

  constructor(taintedBy: Array<string>, skill: string | undefined, hidden: ReadonlyMap<string, number>) {
    this.taintedBy = taintedBy
    this.skill = skill
    this.hidden = hidden
  }
}

interface Has {
  readonly reading: Reading
}

/** The reading of a run that starts with this taint, or is resumed. */
export const newReading = (
  taintedBy: Array<string>,
  before: { readonly skill?: string | undefined; readonly hidden: Readonly<Record<string, number>> } | undefined
): Reading =>
  before === undefined
    ? new State(taintedBy, undefined, noTools)
    : new State(taintedBy, before.skill, new Map(Object.entries(before.hidden)))

const own = (run: Has): State => run.reading as State

/** Adds the names of untrusted tools, each once. */
export const addTaint = (taintedBy: Array<string>, tools: ReadonlyArray<string>): void => {
  for (const tool of tools) if (!taintedBy.includes(tool)) taintedBy.push(tool)
}

/** Notes that the run has read words of untrusted tools. */
export const taintRun = (run: Has, tools: ReadonlyArray<string>): void => {
  addTaint(own(run).taintedBy, tools)
}

/** Notes the skill that the agent has chosen. */
export const chooseSkill = (run: Has, skill: string | undefined): void => {
  own(run).skill = skill
}

/** Keeps the messages of the last request. */
export const keepRequest = (run: Has, messages: ReadonlyArray<Prompt.Message>): void => {
  own(run).requested = messages
}

/** Leaves a tool out of requests until a time, in milliseconds since the epoch. */
export const hideTool = (run: Has, tool: string, until: number): void => {
  const state = own(run)
  state.hidden = new Map(state.hidden).set(tool, until)
}
