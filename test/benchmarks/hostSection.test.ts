/** The section of the guide that compares hosts: its claims follow from the measured numbers. */
import { assert, describe, it } from "@effect/vitest"
import { type HostResults, hostSection } from "../../benchmarks/src/durable/hostSection.ts"

/** Results in which the cluster needs so many microseconds for a run of 200 steps; host sql needs 40,000. */
const measured = (long: number): HostResults => {
  const costs = (name: string, cpuOfLong: number) => ({
    name,
    short: { perSecond: 1000, cpuOfRun: 7000 },
    long: { perSecond: 1000, cpuOfRun: cpuOfLong }
  })
  const near = [costs("recourse", 40_000), costs("recourse, cluster", long)]
  return {
    date: "2026-01-01",
    commit: "abc",
    node: "24",
    cpu: "a processor",
    cpus: 2,
    load: 0,
    rounds: 1,
    waiters: 10,
    steps: { near, far: [] },
    served: [costs("sql", 40_000), costs("cluster", 40_000)],
    latencies: [],
    takeovers: [{ name: "sql", signal: "SIGKILL", runs: 3, taken: 2, median: 4, most: 5 }],
    waiting: []
  }
}

describe("the section that compares hosts", () => {
  it("says whether a step of the cluster is within its bar", () => {
    assert.include(hostSection(measured(48_000)), "takes 1.20 times the CPU of one on host sql in one process")
    assert.include(hostSection(measured(48_000)), "(aim: at most 1.2, reached)")
    assert.include(hostSection(measured(49_000)), "(aim: at most 1.2, missed)")
  })

  it("takes the steps out of a run for its segment", () => {
    // 33,000 µs for 180 steps are 183 a step, and 7,000 µs for 20 steps leave 3,333.
    assert.include(hostSection(measured(40_000)), "A segment takes 3.3 ms of CPU on host cluster")
  })

  it("reports runs that no process took over", () => {
    assert.include(hostSection(measured(40_000)), "4.0 (5.0), 1 not")
  })
})
