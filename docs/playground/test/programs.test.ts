/** The compiler's answer about every program of the page, and the run of each under drawn faults. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { assert, beforeAll, describe, it } from "vitest"
import { type Choice, type Declared, faultsOf, frequencies, nameOf, parseChoice, programs } from "../src/choice.ts"
import { buildPackages, compile, type Compiled } from "../src/compile.ts"
import { agentFile, worldFile } from "../src/program.ts"
import { runProgram } from "../src/run/program.ts"
import type { Report } from "../src/run/report.ts"
import { cases } from "../src/words.ts"

/** The program that the compiler refuses: an unknown outcome has no fallback. */
const isRefused = ({ declared, tool }: Declared): boolean => tool === "write" && declared.has("fallback")

let compiled: Readonly<Record<string, Compiled>>

const errorsOf = (program: Declared): ReadonlyArray<string> => {
  const found = compiled[nameOf(program)]!
  assert.property(found, "errors", nameOf(program))
  return "errors" in found ? found.errors : []
}

const run = async (choice: Choice): Promise<Report> => {
  const result = await runProgram({
    agent: agentFile(choice),
    world: worldFile(choice),
    isStreaming: choice.fault === "cut-stream",
    isEdited: false
  })
  if ("problem" in result) throw new Error(`${nameOf(choice)}: ${result.problem}`)
  return result
}

const count = ({ services }: Report, effect: Report["services"][number]["effect"]): number =>
  services.filter((one) => one.effect === effect).length

/** Asserts the promises of the page about a run. */
const check = (choice: Choice, report: Report): void => {
  const name = `${nameOf(choice)} ${choice.fault} ${choice.often}`
  const done = count(report, "done")
  assert.isAtMost(done, 1, `${name}: no write happens twice`)
  assert.isAtMost(count(report, "compensated"), done, `${name}: only completed writes are taken back`)
  if (report.outcome === "success") {
    if (choice.tool === "write" && report.text.startsWith("Good news")) {
      assert.strictEqual(done, 1, `${name}: no false success`)
    }
  } else {
    const tags = errorsOf(choice).map((member) => member.replace(/<.*/s, ""))
    assert.include(tags, report.outcome, `${name}: the error type has the outcome`)
  }
  if (choice.fault === "none") assert.match(report.text, /^Good news/, name)
}

const drawn = <A>(all: ReadonlyArray<A>, seed: number): A =>
  all[Math.abs(Math.imul(seed, 0x9e3779b1) >> 8) % all.length]!

describe("programs", () => {
  beforeAll(() => {
    const folder = join(import.meta.dirname, `../.generated/test-${process.pid}`)
    buildPackages()
    compiled = compile(programs, folder)
    rmSync(folder, { recursive: true })
  }, 60_000)

  it("compile, unless they replace an unknown outcome", () => {
    for (const program of programs) {
      const found = compiled[nameOf(program)]!
      if (!isRefused(program)) assert.property(found, "errors", nameOf(program))
      else {
        assert.deepEqual("messages" in found ? found.messages.length : 0, 1)
        assert.match("messages" in found ? found.messages[0]! : "", /'"OutcomeUnknown"' is not assignable/)
      }
    }
  })

  it("lose the errors that they handle from their error type", () => {
    assert.deepStrictEqual(errorsOf(parseChoice("?tool=read")), [
      "AiError",
      "BudgetExceeded",
      "ExecutionError<OrdersDown>",
      "InvalidArgs",
      "InvalidResult",
      "Timeout"
    ])
    assert.deepStrictEqual(errorsOf(parseChoice("?tool=read&with=escalate")), [
      "AiError",
      "BudgetExceeded",
      "InvalidResult"
    ])
    assert.include(errorsOf(parseChoice("?tool=write")), "OutcomeUnknown")
    assert.notInclude(errorsOf(parseChoice("?tool=write&with=escalate")), "OutcomeUnknown")
    assert.include(errorsOf(parseChoice("?tool=write&with=key")), "IdempotencyConflict")
    assert.notInclude(errorsOf(parseChoice("?tool=write")), "ApprovalRequired")
    assert.include(errorsOf(parseChoice("?tool=write&with=approval")), "ApprovalRequired")
  })

  it("need a key for snapshots if a person approves", () => {
    const servicesOf = (query: string): ReadonlyArray<string> => {
      const found = compiled[nameOf(parseChoice(query))]!
      return "services" in found ? found.services : []
    }
    assert.notInclude(servicesOf("?tool=write").join(), "SnapshotKey")
    assert.include(servicesOf("?tool=write&with=approval").join(), "SnapshotKey")
  })

  it("keep the page's promises under drawn faults", async () => {
    const seed = Number(process.env["RECOURSE_SEED"] ?? 1)
    const compilable = programs.filter((program) => !isRefused(program))
    // The browser's test runs all of them under all faults.
    for (let index = 0; index < 60; index++) {
      const program = drawn(compilable, seed + 3 * index)
      const choice = {
        ...program,
        fault: drawn(faultsOf(program.tool), seed + index),
        often: drawn(frequencies, seed + 7 * index)
      }
      check(choice, await run(choice))
    }
  })

  it("end as the offered cases say", async () => {
    const outcomes = await Promise.all(
      cases.map(({ query }) => parseChoice(query)).filter((choice) => !isRefused(choice)).map(async (choice) => {
        const report = await run(choice)
        check(choice, report)
        return [
          report.outcome,
          report.text,
          count(report, "done"),
          count(report, "repeated"),
          count(report, "compensated")
        ]
      })
    )
    assert.deepStrictEqual(
      outcomes.map(([outcome, text, ...counts]) => [outcome === "success" ? text : outcome, ...counts]),
      [
        ["ExecutionError", 0, 0, 0],
        ["Good news: Order 7 is on its way.", 0, 0, 0],
        ["Good news: Order 7 is on its way.", 0, 0, 0],
        ["I do not know if it was done. A colleague checks it.", 1, 0, 0],
        ["Good news: Order 7 is refunded.", 1, 1, 0],
        ["AiError", 1, 0, 1],
        ["I am sorry, it was not possible.", 0, 0, 0],
        ["Good news: Order 7 is refunded.", 1, 0, 0]
      ]
    )
  })

  it("follow the decision of a person", async () => {
    const ran = async (fault: string) => {
      const report = await run(parseChoice(`?tool=write&fault=${fault}&with=approval`))
      return [report.text, report.services.map(({ details }) => details), report.elapsed >= 7_200_000]
    }
    assert.deepStrictEqual(await Promise.all(["none", "rejected", "edited", "late"].map(ran)), [
      ["Good news: Order 7 is refunded.", ["{\"order\":7}"], false],
      ["I am sorry, it was not possible.", [], false],
      ["Good news: Order 8 is refunded.", ["{\"order\":8}"], false],
      ["Good news: Order 7 is refunded.", ["{\"order\":7}"], true]
    ])
  })

  it("report a problem in place of a run", async () => {
    const world = worldFile(parseChoice(""))
    const broken = [
      ["export const agent = (", /Unexpected token/],
      ["import fs from \"node:fs\"\nexport const agent = fs.readFileSync", /There is no module "node:fs"/],
      ["export const agent: number = undefined", /does not export `agent`/],
      ["throw new Error(\"no\")", /^no$/]
    ] as const
    for (const [agent, message] of broken) {
      const result = await runProgram({ agent, world, isStreaming: false, isEdited: true })
      assert.match("problem" in result ? result.problem : "", message)
    }
  })
})
