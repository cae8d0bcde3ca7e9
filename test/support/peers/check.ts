/** Checks the laws in all peers under the same plans. */
import { type LawName, laws } from "./laws.ts"
import type { Peer } from "./peers.ts"
import { planOf, World } from "./world.ts"

/** Plans that concern a law, and those that break it, by their seeds. */
export interface Score {
  readonly plans: number
  readonly broken: ReadonlyArray<number>
}

/** Plays plans, and returns the score of each law. */
export const check = async (peer: Peer, seeds: ReadonlyArray<number>): Promise<Readonly<Record<LawName, Score>>> => {
  const scores = Object.fromEntries(Object.keys(laws).map((law) => [law, { plans: 0, broken: [] as Array<number> }]))
  for (const seed of seeds) {
    const world = new World(planOf(seed))
    const executions = await peer.play(world)
    for (const [name, { holds }] of Object.entries(laws)) {
      const held = holds(world, executions)
      if (held === undefined) continue
      const score = scores[name]!
      score.plans++
      if (!held) score.broken.push(seed)
    }
  }
  return scores as Readonly<Record<string, Score>> as Readonly<Record<LawName, Score>>
}
