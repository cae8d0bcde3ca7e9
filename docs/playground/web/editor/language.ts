/** Questions of the page to the compiler's worker. It starts with the first question. */
import type { Checked } from "../../src/types/compiler.ts"
import type { Question } from "../../src/types/worker.ts"

type WithoutId<A> = A extends unknown ? Omit<A, "id"> : never

interface Answer {
  readonly id: number
  readonly answer?: unknown
  readonly problem?: string
}

let worker: Worker | undefined
let ids = 0
const waiting = new Map<
  number,
  { readonly resolve: (answer: unknown) => void; readonly reject: (error: Error) => void }
>()

const ask = (question: WithoutId<Question>): Promise<unknown> => {
  const id = ++ids
  worker!.postMessage({ id, ...question })
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
}

const start = (): void => {
  worker = new Worker(new URL("../../src/types/worker.ts", import.meta.url), { type: "module" })
  worker.addEventListener("message", ({ data: { answer, id, problem } }: MessageEvent<Answer>) => {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (problem === undefined) asked?.resolve(answer)
    else asked?.reject(new Error(problem))
  })
  worker.addEventListener("error", () => {
    for (const { reject } of waiting.values()) reject(new Error("The compiler could not be loaded."))
    waiting.clear()
  })
  void ask({ archive: new URL("types.bin", document.baseURI).href }).catch(() => undefined)
}

/** Checks an edited program. Rejects if the compiler cannot be loaded. */
export const check = (agent: string, world: string): Promise<Checked> => {
  if (worker === undefined) start()
  return ask({ agent, world }) as Promise<Checked>
}

/** Returns the type at a place of the text that was checked last. */
export const typeAt = (position: number): Promise<string | undefined> =>
  ask({ position }) as Promise<string | undefined>
