/** Open runs: tests make a run of the fields that they need, whichever of its states has them, and read them by their names. */
const room = new URL("../../src/internal/run/state/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

type State = Record<string, unknown>

const { newCounts, newFacts, sectionOf }: {
  readonly newCounts: (parent: object | undefined, before: undefined) => State
  readonly newFacts: (
    parent: undefined,
    log: unknown,
    compensates: unknown,
    taintedBy: Array<string>,
    before: undefined
  ) => { readonly writes: State; readonly reading: State }
  readonly sectionOf: (run: object) => State
} = await load("runState.ts")

const starts = ["outerCall", "hasDrawnId", "isOver", "mayPause", "streaming", "tracing"]

/** Returns a run with these fields. A `tally` makes it a section. */
export const openRun = <A extends object>(fields: A): A => {
  const { parent, tally } = fields as State
  const around = parent as { readonly counts?: object } | undefined
  const counts = newCounts(around?.counts === undefined ? undefined : around, undefined)
  const run: State = {
    start: Object.fromEntries(starts.map((name) => [name, undefined])),
    counts: tally === undefined ? counts : sectionOf({ counts }),
    ...newFacts(undefined, undefined, undefined, [], undefined)
  }
  for (const state of Object.values(run) as Array<State>) {
    for (const name of Object.keys(state)) {
      Object.defineProperty(run, name, {
        configurable: true,
        get: () => state[name],
        set: (value: unknown) => {
          state[name] = value
        }
      })
    }
  }
  for (const [name, value] of Object.entries(fields)) if (name !== "tally") run[name] = value
  return run as A
}
