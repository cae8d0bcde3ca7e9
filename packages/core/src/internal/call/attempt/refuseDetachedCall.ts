/** Step of an attempt: refuses a call that a detached fiber makes after the call around it has ended. */
import { refuseDetached } from "../children/detachedCall.ts"
import type { Step } from "./attemptState.ts"

export const refuseDetachedCall: Step = (next) => (attempt) => refuseDetached(attempt.call.record) ?? next(attempt)
