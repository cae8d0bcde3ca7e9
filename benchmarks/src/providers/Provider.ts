import type { ContestantName, Run } from "../Contestant.ts"

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
  /** Asks for the object `{ total: number }`, and once more if the answer is none; resolves to the total. */
  readonly prepareObject: (fetch: typeof globalThis.fetch) => Promise<Run>
}

/** Providers by contestant. Each is loaded only in the process that measures it. */
export type Providers = Partial<Record<ContestantName, () => Promise<ProviderContestant>>>

export const shippedProviders: Providers = {
  recourse: async () => (await import("./recourse.ts")).contestant,
  "AI SDK": async () => (await import("./aiSdk.ts")).contestant,
  "OpenAI Agents": async () => (await import("./openaiAgents.ts")).contestant
}

export const namesOf = (providers: Providers): ReadonlyArray<ContestantName> =>
  Object.keys(providers) as ReadonlyArray<ContestantName>

export const loadProvider = async (providers: Providers, name: ContestantName): Promise<ProviderContestant> => {
  const load = providers[name]
  if (load === undefined) throw new Error(`${name} is measured through no provider`)
  return load()
}
