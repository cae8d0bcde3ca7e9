/** What each server of the comparison does: streams of the same deltas at the same pace. */

/** How a round is run. */
export interface Shape {
  /** Streams that are open at the same time. */
  readonly streams: number
  /** Deltas of each stream in a second. */
  readonly rate: number
  /** Seconds that a stream goes on. */
  readonly seconds: number
}

export const deltas = ({ rate, seconds }: Shape): number => rate * seconds

/** The time of now, in milliseconds, the same in all processes of a machine. */
export const now = (): number => performance.timeOrigin + performance.now()

/** The text of a delta: when it was made. */
export const deltaText = (): string => `@${now().toFixed(3)}@`

/** What a server tells the process that has started it. */
export type Told =
  | { readonly _tag: "Listens"; readonly port: number }
  | { readonly _tag: "Measured"; readonly cpuMillis: number; readonly memory: number }

/** Listens to what the benchmark asks for: what has been used. The memory is what is live, after garbage is collected. */
export const reports = (port: number): void => {
  let collecting = 0
  process.on("message", () => {
    const before = process.cpuUsage()
    globalThis.gc?.()
    const cpuMillis = (before.system + before.user) / 1000 - collecting
    // What is collected for the measure's sake is not what a stream costs.
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

/** How many deltas a request asks for, by its address. */
export const asked = (url: string | undefined): number =>
  Number(new URL(url ?? "/", "http://localhost").searchParams.get("deltas"))
