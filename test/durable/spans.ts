/** Spans of several processes in one file: a line for each ended span, like from exporters. */
import { type Exit, Layer, Option, Tracer } from "effect"
import { appendFileSync, existsSync, readFileSync } from "node:fs"

/** A span that has ended. */
export interface Ended {
  readonly pid: number
  readonly name: string
  readonly run: string | undefined
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
}

class Written extends Tracer.NativeSpan {
  readonly file: string
  constructor(file: string, options: ConstructorParameters<typeof Tracer.NativeSpan>[0]) {
    super(options)
    this.file = file
  }
  override end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    super.end(endTime, exit)
    const run = this.attributes.get("gen_ai.conversation.id")
    const ended: Ended = {
      pid: process.pid,
      name: this.name,
      run: typeof run === "string" ? run : undefined,
      traceId: this.traceId,
      spanId: this.spanId,
      parentId: Option.getOrUndefined(this.parent)?.spanId
    }
    appendFileSync(this.file, `${JSON.stringify(ended)}\n`)
  }
}

/** A tracer that writes into a file. */
export const tracing = (file: string) =>
  Layer.succeed(Tracer.Tracer, Tracer.make({ span: (options) => new Written(file, options) }))

/** The spans of a file. */
export const spansOf = (file: string): ReadonlyArray<Ended> =>
  existsSync(file)
    ? readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Ended)
    : []
