/** The compiler of the editor, in a worker. It loads the declaration files when it starts. */
import { type Archive, type Compiler, makeCompiler } from "./compiler.ts"

/** A question to the worker. The first one names the archive. */
export type Question =
  | { readonly id: number; readonly archive: string }
  | { readonly id: number; readonly agent: string; readonly world: string }
  | { readonly id: number; readonly position: number }

let compiler: Promise<Compiler> | undefined

const load = async (address: string): Promise<Compiler> => {
  const response = await fetch(address)
  if (!response.ok || response.body === null) throw new Error(`The types could not be loaded: ${response.status}`)
  // Compressed by the build, so that it does not depend on the server.
  const text = await new Response(response.body.pipeThrough(new DecompressionStream("gzip"))).text()
  return makeCompiler(JSON.parse(text) as Archive)
}

const answerTo = async (question: Question): Promise<unknown> => {
  if ("archive" in question) {
    compiler = load(question.archive)
    await compiler
    return undefined
  }
  const loaded = await compiler!
  return "agent" in question ? loaded.check(question.agent, question.world) : loaded.typeAt(question.position)
}

addEventListener("message", ({ data }: MessageEvent<Question>) => {
  answerTo(data).then(
    (answer) => postMessage({ id: data.id, answer }),
    (error: unknown) => postMessage({ id: data.id, problem: String(error) })
  )
})
