import type { Run } from "../Contestant.ts"

/** The same work as a `Contestant`, through the provider that its library ships. */
export interface ProviderContestant {
  readonly prepare: (options: {
    /** Number of tools in each request. */
    readonly tools: number
    readonly streamed: boolean
    readonly fetch: typeof globalThis.fetch
    /** The body of the tool that is called. */
    readonly execute: (n: number) => number
    readonly onDelta: (delta: string) => void
  }) => Promise<Run>
}
