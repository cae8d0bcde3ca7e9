/** Skill choice: the only skill, the one that the program names, or the one that the model chooses. */
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { SkillNotChosen } from "../../../AgentError.ts"
import { objectCodec } from "../../model/answerRecord.ts"
import { isSubstitute, type RespondWith } from "../../model/modelDecision.ts"
import { askObject } from "../../model/callModel.ts"
import type { Conversation, Delay, ProgramSkill } from "../program.ts"
import type { InputText } from "../inputText.ts"
import { emit } from "../../run/run.ts"
import { turn } from "../turn.ts"
import { resultOrEffect } from "../../foundation/options/hookResult.ts"
import { aString } from "../../foundation/options/optionCheck.ts"
import { atFirstUse } from "../../foundation/lazyValue.ts"

const Choice = Schema.Struct({ skills: Schema.Array(Schema.String) })
const choiceCodec = atFirstUse(() => objectCodec(Choice))

const chooseByModel = (
  state: Conversation,
  input: string,
  isDelayed: Delay
): Effect.Effect<ProgramSkill | RespondWith<unknown>, unknown, unknown> => {
  const { name, skills } = state.program
  const prompt = Prompt.make([
    {
      role: "system",
      content: [
        "Choose the one skill that fits the request. The skills are:",
        ...skills.map(({ skill }) => `- ${skill.name}: ${skill.description}`)
      ].join("\n")
    },
    { role: "user", content: [{ type: "text", text: input }] }
  ])
  return Effect.flatMap(
    Effect.suspend(() =>
      turn(state, choiceCodec(), (events) => askObject(state.run, events, prompt, `${name}_skill`, Choice), isDelayed)
    ),
    (answer): Effect.Effect<ProgramSkill | RespondWith<unknown>, SkillNotChosen> =>
      isSubstitute(answer)
        ? Effect.succeed(answer)
        : pick(state, Result.match(answer.value, { onFailure: () => [], onSuccess: ({ skills }) => skills }))
  )
}

const pick = (state: Conversation, chosen: ReadonlyArray<string>): Effect.Effect<ProgramSkill, SkillNotChosen> => {
  const { name: agent, skills } = state.program
  const available = skills.map(({ skill }) => skill.name)
  const found = skills.find(({ skill }) => skill.name === chosen[0])
  if (found === undefined || chosen.length > 1) {
    const reason = chosen.length === 0 ? "none" : chosen.length > 1 ? "ambiguous" : "unknown"
    return Effect.fail(new SkillNotChosen({ agent, reason, chosen, available }))
  }
  return Effect.as(emit(state.run, () => ({ _tag: "SkillChosen", skill: found.skill.name })), found)
}

/** Chooses a skill of an agent that has some. */
export const choose = (
  state: Conversation,
  input: unknown,
  text: InputText,
  isDelayed: Delay
): Effect.Effect<ProgramSkill | RespondWith<unknown>, unknown, unknown> => {
  const { chooseSkill, skills } = state.program
  if (chooseSkill !== undefined) {
    const hook = { subject: `Agent "${state.program.name}"`, name: "skill", kind: aString }
    return Effect.flatMap(resultOrEffect(hook, () => chooseSkill(input)), (name) => pick(state, [name]))
  }
  return skills.length === 1
    ? pick(state, [skills[0]!.skill.name])
    : chooseByModel(state, text(), isDelayed)
}
