/** A tracer that keeps its spans in memory. */
import { Context, Effect, Layer, Option, Tracer } from "effect"

/**
 * The spans that were made, in the order in which they began.
 *
 * @category services
 * @since 0.2.0
 */
export class TestTracer extends Context.Service<TestTracer, {
  readonly spans: Effect.Effect<ReadonlyArray<Tracer.NativeSpan>>
}>()("@recourse/testing/TestTracer") {}

/**
 * A layer that traces into memory.
 *
 * **Example** (Which spans were made?)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TestTracer } from "@recourse/testing"
 *
 * const program = Effect.gen(function*() {
 *   yield* Effect.void.pipe(Effect.withSpan("inner"), Effect.withSpan("outer"))
 *   const { spans } = yield* TestTracer.TestTracer
 *   return (yield* spans).map((span) => [span.name, TestTracer.parentName(span)])
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(TestTracer.layer))) // => [["outer", undefined], ["inner", "outer"]]
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer: Layer.Layer<TestTracer> = Layer.suspend(() => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return Layer.merge(
    Layer.succeed(Tracer.Tracer, tracer),
    Layer.succeed(TestTracer, { spans: Effect.sync(() => [...spans]) })
  )
})

/**
 * The name of the span that a span was made in.
 *
 * @category getters
 * @since 0.2.0
 */
export const parentName = (span: Tracer.NativeSpan): string | undefined => {
  const parent = Option.getOrUndefined(span.parent)
  return parent?._tag === "Span" ? parent.name : undefined
}
