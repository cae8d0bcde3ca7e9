import { assert, describe, it } from "@effect/vitest"
import { LawReport, Laws } from "@recourse/testing"
import { Effect, Option, Result } from "effect"
import { subject } from "../support/shop.ts"

const broken = Laws.check(subject, {
  runs: 60,
  interruptions: 0,
  more: { never_times_out: ({ plain }) => plain.elapsed > 0 ? [{ run: "plain", problem: "it took <time>" }] : [] }
})

// A limit for a machine that does much else.
describe("the report of a check", { timeout: 120_000 }, () => {
  it.effect("names injected and missing faults, in the terminal's width", () =>
    Effect.gen(function*() {
      const judged = yield* Effect.result(Laws.check(subject, { runs: 5, interruptions: 0 }))
      const laws = Object.keys(Laws.all).length
      assert.match(
        LawReport.table(judged),
        new RegExp(`^${laws} laws hold under 5 plans of faults; \\d+ kinds of events seen$`, "m")
      )
      const checked = yield* Effect.result(Laws.check(subject, { laws: [], interruptions: 0 }))
      assert.isTrue(Result.isSuccess(checked))
      const wide = LawReport.table(checked, { width: 800 })
      assert.match(wide, /^tool +.*defect +delay/m)
      // The default plans meet each fault of each tool that it fits; an order has no list that could be done in parts.
      assert.include(wide, "order: partial_success (the answers had no text to alter)")
      assert.strictEqual(wide.split("Not injected:")[1]?.trim().split("\n\n")[0]?.split("\n").length, 1)
      // Reached events of the runs, of each tool, and unreached ones.
      const { reached, unreached } = Result.getOrThrow(checked)
      assert.isAbove(reached["search"]?.["ToolAttemptFailed Timeout"] ?? 0, 1)
      assert.include(Object.keys(reached["run"] ?? {}), "RunFinished success")
      assert.include(unreached, "ToolCompensated")
      assert.notInclude(unreached, "ToolAttemptFailed")
      assert.include(wide.replaceAll(/\s+/g, " "), `Reached by no run: ${unreached.join(", ")}`)
      assert.match(LawReport.reachedMap({ reached }), /<title>ToolAttemptFailed Timeout: search: \d+ times<\/title>/)
      const narrow = LawReport.table(checked, { width: 60 })
      assert.match(narrow, /^fault +search +order +model +audit$/m)
      assert.isTrue(narrow.split("\n").every((line) => line.length <= 60))
      // An uncounted value is no number, and no row of its own.
      assert.match(narrow, /^timeout +\d+ +\d+ +· +·$/m)
      assert.isFalse(narrow.split("\n").some((line) => /^\S+( +·)+$/.test(line)))
      // A table that does not fit next to the others is not cut off: it is separate.
      const narrowest = LawReport.table(checked, { width: 45 })
      assert.match(narrowest, /^fault +search +order$/m)
      assert.match(narrowest, /^fault +model +audit$/m)

      const picture = LawReport.heatMap(Result.getOrThrow(checked))
      assert.include(picture, "<title>order: partial_success: the answers had no text to alter</title>")
      assert.match(picture, /<title>search: timeout: \d+ times<\/title>/)
      assert.include(LawReport.html("shop", checked), picture)
      assert.include(LawReport.html("shop", checked), LawReport.reachedMap({ reached }))
      assert.strictEqual(JSON.parse(LawReport.json("shop", checked)).holds, true)
      assert.match(LawReport.junit("shop", checked), /<testsuites tests="\d+" failures="0" errors="0">/)
    }))

  it.effect("shows the broken law, its plan, timeline and replay code", () =>
    Effect.gen(function*() {
      const checked = yield* Effect.result(broken)
      assert.isTrue(Result.isFailure(checked))
      const text = LawReport.table(checked)
      for (const part of ["never_times_out", "it took <time>", "Timeline:", "Replay: {"]) assert.include(text, part)
      // The replay code can be pasted, in any narrow terminal, and the fault is readable.
      const narrow = LawReport.table(checked, { width: 40 }).split("\n")
      const { replay: pasted } = Result.getFailure(checked).pipe(Option.getOrThrow)
      assert.strictEqual(narrow.at(-1), `Replay: ${pasted}`)
      assert.include(narrow.slice(2, 4).join(" "), "it took <time> (plain run)")
      assert.isTrue(narrow.slice(0, -1).every((line) => line.length <= 40))
      assert.include(LawReport.junit("shop", checked), "message=\"it took &lt;time&gt; (plain run)\"")
      assert.include(LawReport.html("shop", checked), "never_times_out does not hold")
      const { holds, law, replay } = JSON.parse(LawReport.json("shop", checked))
      assert.deepStrictEqual([holds, law], [false, "never_times_out"])
      assert.isString(replay)
    }))

  it("has a sentence for each law", () => {
    for (const law of Object.keys(Laws.all)) assert.notStrictEqual(LawReport.sentence(law), law)
    assert.strictEqual(LawReport.sentence("toString"), "toString")
  })
})
