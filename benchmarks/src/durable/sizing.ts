/**
 * A day of durable runs, second by second, by measured costs: `node src/durable/sizing.ts [--runs 1000000] [--runners 14] [--places 100]
 * [--answer 2000] [--call 300] [--turns 10] [--perSecond 560] [--row 2] [--waiting 1000000] [--seed 1]`.
 *
 * Runs start at random, most at noon. Each takes a slot of a runner for its turns: the time of an answer, and that of a
 * call. `perSecond` is the number of steps that a database records a second, from `bench:durable`; the rest waits. A
 * row is that many KB.
 */
import { parseArgs } from "node:util"

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1000000" },
    runners: { type: "string", default: "14" },
    places: { type: "string", default: "100" },
    answer: { type: "string", default: "2000" },
    call: { type: "string", default: "300" },
    turns: { type: "string", default: "10" },
    perSecond: { type: "string", default: "560" },
    row: { type: "string", default: "2" },
    waiting: { type: "string", default: "1000000" },
    seed: { type: "string", default: "1" }
  }
})
const [runs, runners, places, answer, call, turns, perSecond, row, waiting] = [
  values.runs,
  values.runners,
  values.places,
  values.answer,
  values.call,
  values.turns,
  values.perSecond,
  values.row,
  values.waiting
].map(Number) as [number, number, number, number, number, number, number, number, number]

/** Numbers between 0 and 1, of a seed: mulberry32. */
const drawn = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
const random = drawn(Number(values.seed))
/** Number of starts in a second with this average (Poisson, by a normal distribution). */
const begun = (mean: number): number => {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal))
}

const day = 86_400
/** About three times the average at noon, and nearly zero at midnight. */
const profile = (second: number): number => Math.sin((Math.PI * second) / day) ** 6
const steps = 2 * turns
const seconds = (turns * (answer + call)) / 1000

/** Runs `arrivals` a second, until all have ended, and returns the saturated parts. */
const simulate = (arrivals: (second: number) => number, until: number) => {
  /** When runs have made their progress, those that began first before the others. */
  const running: Array<{ readonly end: number; readonly count: number }> = []
  let first = 0
  let progress = 0
  let queued = 0
  let active = 0
  let ended = 0
  let waits = 0
  let second = 0
  const most = { active: 0, queued: 0, steps: 0, asked: 0, slower: 1 }
  for (; second < until || queued + active > 0; second++) {
    for (let next = running[first]; next !== undefined && next.end <= progress; next = running[++first]) {
      active -= next.count
      ended += next.count
    }
    queued += second < until ? arrivals(second) : 0
    // Each runner claims up to 100 at a time, and again if there are more: the slots are the limit.
    const claimed = Math.min(queued, runners * places - active)
    queued -= claimed
    active += claimed
    waits += queued
    running.push({ end: progress + seconds, count: claimed })
    // Each run waits for the entry of its step: if the database is saturated, all continue more slowly.
    const wanted = (active * steps) / seconds + claimed
    const slower = Math.max(1, wanted / perSecond)
    progress += 1 / slower
    most.active = Math.max(most.active, active)
    most.queued = Math.max(most.queued, queued)
    most.steps = Math.max(most.steps, wanted / slower)
    most.asked = Math.max(most.asked, (active * turns) / seconds / slower)
    most.slower = Math.max(most.slower, slower)
  }
  return { most, ended, second, wait: waits / Math.max(1, ended) }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const whole = (n: number): string => Math.round(n).toLocaleString("en-US")

const scale = Array.from({ length: day }, (_, second) => profile(second)).reduce((sum, n) => sum + n, 0) / day
const one = simulate((second) => begun((runs / day) * (profile(second) / scale)), day)
say(
  `${
    whole(runs)
  } runs a day of ${steps} steps, ${seconds} s each; ${runners} runners of ${places} places; ${perSecond} steps a second`
)
say(`  ended: ${whole(one.ended)}; the last ${whole(Math.max(0, one.second - day))} s behind midnight`)
say(
  `  at once: ${whole(one.most.active)} of ${whole(runners * places)} places; queued: ${
    whole(one.most.queued)
  } at most, ${one.wait.toFixed(1)} s on average`
)
say(
  `  steps a second: ${whole(one.most.steps)} at noon; runs go on ${
    one.most.slower.toFixed(1)
  } times more slowly at worst, as the database is full`
)
say(`  requests to models a second: ${whole(one.most.asked)} at noon`)
say(`  disk: ${whole((runs * (steps + 2) * row) / 1e6)} GB a day; connections: ${runners * 10}`)

// All that wait are decided at once.
const all = simulate((second) => second === 0 ? waiting : 0, 1)
say(
  `${whole(waiting)} runs that wait: ${
    whole((waiting * 10) / 1e6)
  } GB of snapshots of 10 KB; no place, no timer, no connection`
)
say(`  decided at once, and each continues for a whole run: all have ended after ${(all.second / 3600).toFixed(1)} h`)
say(`  requests to models a second meanwhile: ${whole(all.most.asked)}`)
