/** Runs a program once, in virtual time, and observes everything about it. */
import { Context, Effect, Layer, Logger } from "effect"
import { Conversation } from "@recourse/core"
import * as ScriptedModel from "../../ScriptedModel.ts"
import * as TestTracer from "../../TestTracer.ts"
import { snapshotKey } from "../simulation/snapshotKey.ts"
import { build } from "./build.ts"
import type { Observed } from "./observed.ts"
import type { Program } from "./program.ts"
import { ProgramRecorder } from "./programRecorder.ts"
import { type ObserveOptions, ProgramRun } from "./programRun.ts"
import { storesOf } from "./surroundings.ts"
import { World } from "./world.ts"

/**
 * Runs a program. Does not fail: the observation contains the faults.
 *
 * @category running
 * @since 0.2.0
 */
export const observe = (program: Program, options: ObserveOptions = {}): Effect.Effect<Observed> =>
  Effect.suspend(() => {
    const world = new World()
    const recorder = new ProgramRecorder(program)
    const stores = storesOf(program)
    const first = build(program, world, recorder.progress)
    const services = recorder.layer(first.model).pipe(Layer.provideMerge(Layer.mergeAll(
      TestTracer.layer,
      Logger.layer([]),
      snapshotKey,
      Conversation.layerMemory,
      stores.layer
    )))
    return Effect.scoped(Effect.flatMap(Layer.build(services), (context) =>
      Effect.gen(function*() {
        const run = new ProgramRun({
          program,
          world,
          recorder,
          first,
          context: context as Context.Context<never>
        }, options)
        const left = yield* program.chat.length > 0 ? run.playChat() : run.runAll()
        const spans = yield* Context.get(context, TestTracer.TestTracer).spans
        const { audit, events, pauses } = recorder
        return {
          program,
          tools: first.tools,
          parts: run.parts,
          events,
          requests: yield* Context.get(context, ScriptedModel.ScriptedModel).requests,
          sideEffects: world.sideEffects,
          compensations: world.compensated,
          audit,
          entries: stores.all(),
          unansweredClaims: stores.unansweredClaims(),
          pauses,
          open: spans.filter(({ status }) => status._tag === "Started").map(({ name }) => name),
          interrupted: options.interruptAt !== undefined,
          left
        }
      })))
  })
