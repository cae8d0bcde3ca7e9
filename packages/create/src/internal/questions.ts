/** Questions to the person at the terminal. */
import { createInterface } from "node:readline/promises"
import type { Readable, Writable } from "node:stream"
import { type Model, models } from "./options.ts"

/**
 * The terminal of the person who is asked: streams of Node. Their types are not named, so that programs need no types of Node.
 *
 * @category models
 * @since 0.2.0
 */
export interface Terminal {
  readonly input: AsyncIterable<unknown>
  readonly output: { readonly write: (text: string) => unknown }
}

/** Answers of a person. Each question has a default, the answer to an empty line. */
export interface Questions {
  readonly folder: () => Promise<string>
  readonly server: () => Promise<boolean>
  readonly model: () => Promise<Model>
  readonly close: () => void
}

/** The person has closed the terminal in place of an answer. */
export class NoAnswer extends Error {
  readonly _tag = "NoAnswer"

  constructor() {
    super("No project was made: a question has no answer.")
  }
}

/** Opens questions at a terminal. They fail with `NoAnswer` if it is closed. */
export const openQuestions = (terminal: Terminal): Questions => {
  const { input, output } = terminal as { readonly input: Readable; readonly output: Writable }
  const lines = createInterface({ input, output, terminal: false })
  const closed = new AbortController()
  lines.once("close", () => closed.abort())
  const ask = async (question: string): Promise<string> => {
    const answer = await lines.question(question, { signal: closed.signal }).catch(() => {
      throw new NoAnswer()
    })
    return answer.trim()
  }
  const choose = async <A extends string>(question: string, choices: ReadonlyArray<A>): Promise<A> => {
    const answer = (await ask(question)).toLowerCase()
    const found = answer === "" ? choices[0] : choices.find((choice) => choice === answer)
    return found ?? choose(question, choices)
  }
  return {
    folder: async () => await ask("Folder of the project (my-agent): ") || "my-agent",
    server: async () =>
      /^y/i.test(await choose("A server with durable runs in SQLite? y or n (n): ", ["n", "y", "no", "yes"])),
    model: () => choose(`The model: ${models.join(", ")} (script, without a key): `, models),
    close: () => lines.close()
  }
}
