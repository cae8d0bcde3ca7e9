/** Recorder of a program: its events, requests, pauses and audit, and the time that it waits for a person. */
import { Effect, Layer } from "effect"
import { AgentEvent, Audit } from "@recourse/core"
import * as ScriptedModel from "../../ScriptedModel.ts"
import type { Asked } from "./asked.ts"
import type { Progress } from "./toolBuilder.ts"
import type { Waited } from "./observed.ts"
import type { Program } from "./program.ts"
import { observer, person } from "./surroundings.ts"

/** Counts at one point of a run. */
export interface Mark {
  readonly events: number
  readonly requests: number
  readonly waited: number
}

/** Records one program. */
export class ProgramRecorder {
  readonly events: Array<AgentEvent.AgentEvent> = []
  readonly audit: Array<Audit.AuditRecord> = []
  readonly pauses: Array<Waited> = []
  private readonly program: Program
  private agents = 0
  private requests = 0
  private waited = 0
  private isListenerFaulty = false

  constructor(program: Program) {
    this.program = program
  }

  readonly onAsked = (asked: Asked): void => {
    this.pauses.push({ ...asked, after: this.events.length, requests: this.requests })
  }

  readonly progress: Progress = {
    events: () => this.events.length,
    agents: () => this.agents,
    requests: () => this.requests,
    onAsked: this.onAsked
  }

  get mark(): Mark {
    return { events: this.events.length, requests: this.requests, waited: this.waited }
  }

  /** The model, the listener, the person and the audit of the program. */
  layer(model: ScriptedModel.Behaviour) {
    const counted: ScriptedModel.Behaviour = (request, index) => {
      this.requests++
      return model(request, index)
    }
    return Layer.mergeAll(
      ScriptedModel.layer(counted),
      AgentEvent.listen((event) => Effect.suspend(() => this.onEvent(event))),
      person(this.program, (millis) => {
        this.waited += millis
      }),
      Audit.layer((record) => Effect.sync(() => void this.audit.push(record)))
    )
  }

  private onEvent(event: AgentEvent.AgentEvent) {
    this.events.push(event)
    if (event._tag === "AgentStarted" || event._tag === "RunStarted") this.agents++
    // Listeners fail in the middle of a run, so that its beginning and its end are seen.
    this.isListenerFaulty ||= event._tag === "ToolCallStarted"
    return this.isListenerFaulty && event._tag === "ToolAttempt" ? observer(this.program) : Effect.void
  }
}
