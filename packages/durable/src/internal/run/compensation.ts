/** Durable compensation: the definition of the agent that compensates ended runs of another one. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Agent from "@recourse/core/Agent"
import * as Compensation from "@recourse/core/Compensation"
import { type Definition, inputCodec } from "../agent/definition.ts"
import { checkingOf, proceedingOf } from "./startOrResume.ts"

const encodeAnswer = Schema.encodeUnknownEffect(Schema.toCodecJson(Compensation.Answer))

/** The definition of the agent that compensates. It has the version of its agent: each process that has the tools of today takes its runs. */
export const compensationOf = (
  agent: Agent.Agent<Compensation.Request, Compensation.Answer, unknown, unknown>,
  { version }: Definition
): Definition => ({
  name: agent.name,
  version,
  previousVersions: {},
  queue: undefined,
  asking: undefined,
  decodeInput: inputCodec(Compensation.Request).decode,
  encodeOutput: encodeAnswer as Definition["encodeOutput"],
  encodeError: () => Effect.fail("no schema"),
  check: checkingOf(agent),
  explain: undefined,
  proceed: proceedingOf(agent, false)
})
