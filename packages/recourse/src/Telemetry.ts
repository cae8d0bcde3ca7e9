/** What Recourse puts into spans. Names follow OpenTelemetry's semantic conventions for generative AI. */
import { Context } from "effect"

/**
 * Whether tool arguments and results are written into spans (`gen_ai.tool.call.arguments`, `gen_ai.tool.call.result`).
 * Off by default, as they may hold personal data.
 *
 * **Example** (Switching it on)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Telemetry } from "recourse"
 *
 * Effect.runSync(Telemetry.CaptureContent) // => false
 * Effect.runSync(Telemetry.CaptureContent.pipe(Effect.provideService(Telemetry.CaptureContent, true))) // => true
 * ```
 */
export const CaptureContent: Context.Reference<boolean> = Context.Reference<boolean>(
  "recourse/Telemetry/CaptureContent",
  { defaultValue: () => false }
)
