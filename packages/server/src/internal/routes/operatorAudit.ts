/** Audit of operators' requests. A request whose record cannot be written fails. */
import * as Effect from "effect/Effect"
import type { AuditRecord } from "@recourse/core/Audit"
import type { Check } from "../index/types.ts"
import type { Config } from "./config.ts"

type Request =
  & Pick<AuditRecord, "at" | "runId" | "path" | "tool" | "callId" | "decision">
  & { readonly by: string; readonly reason?: string }

/** Records a request of a person about a call. The hash of its arguments is made only if there is an audit. */
export const auditRequest = ({ audit }: Config, argumentsHash: Effect.Effect<string>, request: Request) =>
  audit === undefined ? Effect.void : Effect.flatMap(argumentsHash, (hash) =>
    audit({
      referenceId: crypto.randomUUID(),
      actor: request.by,
      argumentsHash: hash,
      security: false,
      ...request
    }))

/** Returns the reason of a check for the audit: the answer, and the person's note if there is one. */
export const reasonOf = ({ answer, note }: Check): string =>
  note === undefined || note === "" ? answer : `${answer}: ${note}`
