/**
 * A run with another program in its second execution: for any difference it continues lawfully or ends with a named
 * error. It never hangs, starts no write twice, requests no recorded answer again, and reports no started call as not
 * done.
 */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Layer } from "effect"
import type { Tool } from "@recourse/core"
import { IdempotencyLedger, Journal } from "@recourse/core"
import { type CutAt, cuts, journalOf } from "../support/interruptedRuns.ts"
import { tools } from "../support/changedCalls.ts"
import { programs } from "../support/changedPrograms.ts"
import { isChosen } from "../support/operations.ts"
import {
  agent,
  book,
  bundle,
  call,
  type Case,
  clerk,
  deny,
  type Here,
  keyed,
  read,
  within,
  worldOf,
  write
} from "../support/programChange.ts"

/** Tools within which something is written that is not theirs. */
const around: Readonly<Record<string, { readonly name: string; readonly of: (here: Here) => Tool.Any }>> = {
  "a tool that makes a call": {
    name: "bundle",
    of: (here) => bundle(() => within(write(here, "book"), "a", { seat: "1A" }))
  },
  "a tool that calls an agent": {
    name: "bundle",
    of: (here) => bundle(() => within(clerk("clerk", write(here, "book"), "clerk"), "a", { seat: "1A" }))
  },
  "a tool that calls an agent that writes under a key": {
    name: "bundle",
    of: (here) => bundle(() => within(clerk("clerk", write(here, "book", keyed), "clerk"), "a", { seat: "1A" }))
  },
  "an agent that writes": { name: "clerk", of: (here) => clerk("clerk", write(here, "book"), "clerk") },
  "an agent that writes under a key": {
    name: "clerk",
    of: (here) => clerk("clerk", write(here, "book", keyed), "clerk")
  }
}

const withoutThem: Readonly<Record<string, Case>> = Object.fromEntries(
  Object.entries(around).flatMap(([what, { name, of }]) => {
    const turns = { main: [call(name, { seat: "1A" }, "c1"), ScriptedModel.text("done")], clerk: book }
    const none = (make: Case["make"]): Case => ({ make, turns, other: true })
    return [
      [`${what} is removed`, none((here) => agent(here.life === 0 ? [of(here)] : [read("look")]))],
      [
        `${what} is not offered`,
        none((here) =>
          agent([of(here), read("look")], { prepareTurn: () => ({ tools: [here.life === 0 ? name : "look"] }) })
        )
      ],
      [`${what} is denied`, none((here) => agent([of(here)], here.life === 0 ? {} : { policies: [deny] }))]
    ]
  })
)

const live = (world: ReturnType<typeof worldOf>, one: Case, life: number, journal: Journal.Journal) => {
  const model = ScriptedModel.layer(({ prompt }) => {
    const system = prompt.content.find(({ role }) => role === "system")?.content
    const by = typeof system === "string" ? system.split(/\W/, 1)[0]! : "main"
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    world.asked.push({ life, by: `${by} ${turn + 1}` })
    const asked = JSON.stringify(prompt.content).match(/the (?:first|second) (\d+A)/)?.[1]
    if (asked !== undefined && turn === 0) return call("book", { seat: asked }, "c1")
    return (life === 0 ? one.turns : one.laterTurns ?? one.turns)[by]?.[turn] ??
      ScriptedModel.text(`no turn ${turn} of ${by}`)
  })
  return Drive.drive(
    one.make({ life, world }).report("go", { runId: "run_1" }).pipe(
      Effect.provideService(Journal.CurrentJournal, journal),
      Effect.provide(model)
    ),
    { step: "50 millis", max: 400 }
  )
}

const nameOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "done"
  const reason = exit.cause.reasons.find((reason) => !Cause.isInterruptReason(reason))
  if (reason === undefined) return "interrupted"
  if (Cause.isFailReason(reason)) return (reason.error as { readonly _tag: string })._tag
  return reason.defect instanceof Journal.NonDeterminismError
    ? "NonDeterminismError"
    : `defect: ${String(reason.defect)}`
}

/** The model's final results of each call. */
const told = (report: { readonly transcript: { readonly content: ReadonlyArray<unknown> } }) =>
  new Map(
    (report.transcript.content as ReadonlyArray<{ readonly role: string; readonly content: ReadonlyArray<never> }>)
      .flatMap(({ content, role }) => role === "tool" ? content : [])
      .map((part: { readonly id: string; readonly result: { readonly code?: string } | null }) =>
        [part.id, part.result?.code] as const
      )
  )

/** Before or behind each entry, in turn: the seed chooses which comes first. */
const someCuts = (entries: number) => cuts(entries).filter(({ at, behind }) => isChosen(at, Number(behind)))

describe("a run with another program in its second execution", () => {
  for (const [name, one] of [...Object.entries(tools), ...Object.entries(programs), ...Object.entries(withoutThem)]) {
    it.effect(`continues lawfully, or ends with a named error, where ${name}`, () =>
      Effect.gen(function*() {
        const play = (cut: CutAt | undefined) =>
          Effect.gen(function*() {
            const world = worldOf()
            const { kept, life } = journalOf()
            const ledger = Layer.succeedContext(yield* Layer.build(Layer.fresh(IdempotencyLedger.layerMemory)))
            const first = yield* Effect.provide(live(world, one, 0, life(cut).journal), ledger)
            if (cut === undefined) return { first, kept, world, last: first, recorded: [...kept.keys()] }
            if (one.lost !== undefined) kept.delete(one.lost)
            const recorded = [...kept.keys()]
            const last = yield* Effect.provide(live(world, one, 1, life().journal), ledger)
            return { first, kept, last, recorded, world }
          }).pipe(Effect.scoped)
        const whole = yield* play(undefined)
        assert.deepStrictEqual(nameOf(whole.first.exit), "done", "the first program")
        const ends = new Set<string>()
        for (const { about, ...cut } of one.ends === undefined ? someCuts(whole.kept.size) : cuts(whole.kept.size)) {
          const { last, recorded, world } = yield* play(cut)
          const end = nameOf(last.exit)
          ends.add(end)
          assert.include(["done", ...(one.ends ?? [])], end, about)
          // No answer that is on record is asked for again.
          for (const { by, life } of world.asked) {
            const [who, turn] = by.split(" ")
            if (life === 1 && who === "main") assert.notInclude(recorded, `model /${turn}`, about)
          }
          const begun = world.writes.some(({ life }) => life === 0)
          const codes = end === "done" ? told(last) : new Map<string, string | undefined>()
          const [code] = codes.values()
          // Writes that the second program does not repeat are reported as unknown, and its other calls are not
          // reported alone.
          if (one.other === true) {
            if (begun && end === "done" && !recorded.includes("call /c1")) {
              assert.strictEqual(code, "outcome_unknown", about)
            }
            continue
          }
          // No write begins twice, but under its key.
          for (const [what, all] of Map.groupBy(world.writes, ({ what }) => what)) {
            if (all.length === 1) continue
            const keys = new Set(all.map(({ key }) => key))
            assert.isTrue(keys.size === 1 && !keys.has(undefined), `${about}: ${what} under ${[...keys].join(" and ")}`)
          }
          if (begun && codes.size === 1) assert.include([undefined, "outcome_unknown"], code, about)
          // An unstarted call is refused like without a journal.
        }
        for (const end of one.ends ?? []) assert.include([...ends], end, "at some interruption")
      }))
  }
})
