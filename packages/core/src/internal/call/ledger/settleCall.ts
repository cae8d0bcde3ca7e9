/** End of a call's hold on its key: those who wait for the call continue. */
import * as Effect from "effect/Effect"
import type { Call } from "../call.ts"
import { endMaking, takeSettle } from "../record/claiming.ts"

/** Ends the making of a call by a tool or a program. Its claim is kept until the call is not made any more. */
export const leave = (call: Call): Effect.Effect<void> => endMaking(call.record) > 0 ? Effect.void : settle(call)

/** Continues those who wait for a call. Done at the end of each call, whatever its outcome is. */
export const settle = ({ record }: Call): Effect.Effect<void> => takeSettle(record) ?? Effect.void
