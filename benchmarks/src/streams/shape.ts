/** Work of each server in the comparison: streams of the same deltas at the same pace. */

/** Parameters of a round. */
export interface Shape {
  /** Streams that are open at the same time. */
  readonly streams: number
  /** Deltas of each stream in a second. */
  readonly rate: number
  /** Duration of a stream in seconds. */
  readonly seconds: number
}

export const deltas = ({ rate, seconds }: Shape): number => rate * seconds

/** The time of now, in milliseconds, the same in all processes of a machine. */
export const now = (): number => performance.timeOrigin + performance.now()

/** The text of a delta: when it was made. */
export const deltaText = (): string => `@${now().toFixed(3)}@`

/** Report of a server to the process that started it. */
export type Told =
  | { readonly _tag: "Listens"; readonly port: number }
  | { readonly _tag: "Measured"; readonly cpuMillis: number; readonly memory: number }

/** Answers the benchmark's requests for the usage. The memory is the live one, after garbage collection. */
export const reports = (port: number): void => {
  let collecting = 0
  process.on("message", () => {
    const before = process.cpuUsage()
    globalThis.gc?.()
    const cpuMillis = (before.system + before.user) / 1000 - collecting
    // Garbage collection for the measurement is not a stream's cost.
    const { system, user } = process.cpuUsage(before)
    collecting += (system + user) / 1000
    const { external, heapUsed } = process.memoryUsage()
    process.send!({ _tag: "Measured", cpuMillis, memory: heapUsed + external } satisfies Told)
  })
  process.on("disconnect", () => process.exit())
  process.send!({ _tag: "Listens", port } satisfies Told)
}

/** The shape that the benchmark asks for. */
export const shape = (): Shape => JSON.parse(process.argv[2]!) as Shape

/** Number of deltas that a request asks for, by its address. */
export const asked = (url: string | undefined): number =>
  Number(new URL(url ?? "/", "http://localhost").searchParams.get("deltas"))
