/** The work that every contestant does: a script for the model, and one tool. */

/** A tool call as the model writes it. */
export interface Call {
  readonly id: string
  readonly name: string
  /** A JSON text: reading it is part of the work. */
  readonly arguments: string
}

/** One answer of the model: calls, or text in one or more pieces. */
export interface Turn {
  readonly calls: ReadonlyArray<Call>
  readonly text: ReadonlyArray<string>
}

export interface Task {
  readonly turns: ReadonlyArray<Turn>
  /** The tool's body. Throws if the workload requires a failure. */
  readonly execute: (n: number) => number
  /** Reaction to an exception: none is prepared, two more attempts, or a report to the model. */
  readonly onFailure: "none" | "retry" | "tell"
  /** The model's time for an answer, in milliseconds; 0 is at once. */
  readonly modelDelay: number
}

export const question = "Double my numbers with the tool."
export const instructions = "You double numbers. Use the tool, and answer when you are done."

export const tool = { name: "double", description: "Doubles a number" } as const

export const call = (id: string, n: number): Call => ({ id, name: tool.name, arguments: JSON.stringify({ n }) })

export const calls = (...calls: ReadonlyArray<Call>): Turn => ({ calls, text: [] })

export const text = (...text: ReadonlyArray<string>): Turn => ({ calls: [], text })

/** Exception of a failing tool. */
export class Down extends Error {
  readonly _tag = "Down"
}

/** The tool's body with its two more attempts, for those whose library retries no tools. */
export const executeOrRetry = (task: Task, n: number): number => {
  for (let attempt = 0;; attempt++) {
    try {
      return task.execute(n)
    } catch (error) {
      if (task.onFailure !== "retry" || attempt === 2) throw error
    }
  }
}

/**
 * Plays a task's script by the length of the conversation, so that one model serves any number of runs at a time. Fails
 * if a conversation lacks its expected messages.
 */
export const script = <A>(
  task: Task,
  /** Messages in the first request. */
  first: number,
  /** Messages that a turn and its results add. */
  added: (turn: Turn) => number,
  /** The answer in the contestant's own form. Made for each request only if it is a function. */
  answer: (turn: Turn) => A
): (length: number) => Promise<A> | A => {
  const answers = new Map<number, A>()
  let expected = first
  for (const turn of task.turns) {
    answers.set(expected, answer(turn))
    expected += added(turn)
  }
  return (length) => {
    const found = answers.get(length)
    if (found === undefined) throw new Error(`The model was asked with ${length} messages, which fits no turn`)
    return task.modelDelay === 0
      ? found
      : new Promise((resolve) => setTimeout(resolve, task.modelDelay, found))
  }
}
