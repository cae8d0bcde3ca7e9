/** The options of all modules on one page. */
import { commentOf, isOptions, type Locate, membersOf, optionTable, textOf } from "./render.ts"
import type { Module } from "./convert.ts"

export interface Option {
  /** Module, interface and name: `Agent.Options.budget`. */
  readonly name: string
  readonly text: string
  readonly isOptional: boolean
}

/** Returns the page, and the options on it. */
export const renderOptions = (
  modules: ReadonlyArray<Module>,
  locate: Locate
): { readonly page: string; readonly all: ReadonlyArray<Option> } => {
  const all: Array<Option> = []
  const parts = modules.flatMap((module) =>
    (module.reflection.children ?? []).filter((child) => isOptions(child) && membersOf(child).length > 0).flatMap(
      (child) => {
        all.push(
          ...membersOf(child).map((member) => ({
            name: `${module.folder}/${module.name}.${child.name}.${member.name}`,
            text: textOf(commentOf(member), locate),
            isOptional: member.flags.isOptional
          }))
        )
        return [
          `## ${module.name}: \`${child.name}\``,
          "",
          `Package \`@recourse/${module.folder}\`. ${
            textOf(child.comment, locate).split(/^\*\*Example\*\*/m)[0]!.trim()
          }`,
          "",
          ...optionTable(child, locate)
        ]
      }
    )
  )
  const page = [
    "# Options",
    "",
    "You look for the name of an option, or for its default. Here are the options of all modules. A dash as default: without the option its feature is not in use.",
    "",
    ...parts
  ].join("\n")
  return { page, all }
}
