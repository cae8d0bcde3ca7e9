/** The script of a project that has none: it repeats the user's message, and calls tools on command. */
import type * as Prompt from "effect/ai/Prompt"
import * as ScriptedModel from "@recourse/testing/ScriptedModel"

/** The last message, if a user wrote it. */
const lastSaid = ({ content }: Prompt.Prompt): string | undefined => {
  const last = content.at(-1)
  return last?.role === "user"
    ? last.content.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n")
    : undefined
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const help = (tools: ReadonlyArray<string>): string =>
  [
    "No model is named, so this answer comes from a script.",
    ...(tools.length === 0 ? [] : [
      `To see a tool at work, write its name with a slash, and the arguments as JSON. Tools: ${
        tools.map((tool) => `\`/${tool}\``).join(", ")
      }.`
    ]),
    "To talk to a model, start with `--preset openai --model <name>` and set the key, such as `OPENAI_API_KEY`."
  ].join("\n\n")

/**
 * Repeats the user's message. `/find_order {"id":"7"}` calls the tool.
 *
 * @category constructors
 * @since 0.2.0
 */
export const repeating: ScriptedModel.Behaviour = ({ prompt, tools }, index) => {
  const said = lastSaid(prompt)
  if (said === undefined) return ScriptedModel.text("Done.", { pace: "20 millis" })
  const [, tool, args = ""] = /^\/([\w-]+)\s*([\s\S]*)$/.exec(said.trim()) ?? []
  if (tool !== undefined && tools.includes(tool)) {
    return ScriptedModel.call(tool, args.trim() === "" ? {} : parsed(args), { id: `call_${index}_${tool}` })
  }
  return ScriptedModel.text(`You said: ${said}\n\n${help(tools)}`, { pace: "15 millis" })
}
