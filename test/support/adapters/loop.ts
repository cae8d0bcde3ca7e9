/** Loops of other libraries with a scripted model, as the cases of the adapters use them. */
import type { ToolRun } from "@recourse/core"
import type { z } from "zod"

/** A call of the scripted model. `arguments` is the text that the model wrote. */
export interface ScriptedCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** An answer of the scripted model: calls, or a text that ends the loop. */
export type ScriptedTurn = ReadonlyArray<ScriptedCall> | string

/** A model: a list of answers, or a function of the results that it has read. */
export type ScriptedAnswers =
  | ReadonlyArray<ScriptedTurn>
  | ((results: Readonly<Record<string, string>>, request: number) => ScriptedTurn)

/** Options of a conversation. */
export interface Conversation {
  readonly run: ToolRun.Any
  readonly script: ScriptedAnswers
  readonly isStreamed?: boolean | undefined
  /** Ends the loop from outside. */
  readonly signal?: AbortSignal | undefined
}

/** End of a conversation. */
export interface Conversed {
  /** The text that the loop ended with; absent if it ended with an error. */
  readonly text: string | undefined
  readonly error: unknown
  /** Results by call id, as the model read them in its next request: text, or JSON text. */
  readonly results: Readonly<Record<string, string>>
  /** Number of requests to the model. */
  readonly requests: number
}

/** A library with an adapter. */
export interface Loop {
  readonly name: string
  readonly converse: (conversation: Conversation) => Promise<Conversed>
}

/** A tool as it is without Recourse. */
export interface PlainTool {
  readonly name: string
  readonly description: string
  readonly parameters: z.ZodObject
  /** The library's own approval. */
  readonly needsApproval: boolean
  readonly execute: (input: never, signal: AbortSignal | undefined) => Promise<string>
}

/** A library without an adapter, with its tools. */
export interface PlainLoop {
  readonly name: string
  readonly converse: (
    tools: ReadonlyArray<PlainTool>,
    script: Conversation["script"],
    signal?: AbortSignal
  ) => Promise<Conversed>
}

/** The answers of a scripted model, one for each request; and its memory of the results that it reads. */
export class Script {
  readonly results: Record<string, string> = {}
  requests = 0
  private readonly turns: ScriptedAnswers

  constructor(turns: ScriptedAnswers) {
    this.turns = turns
  }

  next(): { readonly calls: ReadonlyArray<ScriptedCall>; readonly text: string } {
    const request = this.requests++
    const { results, turns } = this
    const turn = typeof turns === "function" ? turns(results, request) : turns[request]
    if (turn === undefined) throw new Error("The script has no further answer")
    return typeof turn === "string" ? { calls: [], text: turn } : { calls: turn, text: "" }
  }

  read(id: string, result: unknown): void {
    this.results[id] = typeof result === "string" ? result : JSON.stringify(result)
  }

  /** Waits for the end of a loop. */
  async end(loop: () => Promise<string>): Promise<Conversed> {
    let text: string | undefined
    let error: unknown
    try {
      text = await loop()
    } catch (thrown) {
      error = thrown
    }
    const { requests, results } = this
    return { text, error, results, requests }
  }
}
