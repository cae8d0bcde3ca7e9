/** A module as a page: its functions first, then values, errors, options and other types. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import {
  type Comment,
  type CommentDisplayPart,
  type DeclarationReflection,
  Reflection,
  ReflectionKind,
  ReflectionType
} from "typedoc"
import { root } from "../markdown.ts"
import type { Module } from "./convert.ts"

/** Returns the link to a declaration of another page; undefined if it has no page. */
export type Locate = (reflection: Reflection) => string | undefined

const partText = (part: CommentDisplayPart, locate: Locate): string => {
  if (part.kind !== "inline-tag") return part.text
  const link = part.target instanceof Reflection ? locate(part.target) : undefined
  return link === undefined ? `\`${part.text}\`` : `[\`${part.text}\`](${link})`
}

/** Tags for tools: a reader of a page finds the kind of an export by its section. */
const unprinted = new Set(["@category", "@since"])

/** The text of a comment, with the text of its tags. */
export const textOf = (comment: Comment | undefined, locate: Locate): string =>
  comment === undefined ? "" : [
    comment.summary.map((part) => partText(part, locate)).join(""),
    ...comment.blockTags.filter(({ tag }) => !unprinted.has(tag)).map(({ content, tag }) =>
      `${tag === "@default" ? "Default: " : ""}${content.map((part) => partText(part, locate)).join("")}`
    )
  ].map((text) => text.trim()).join("\n\n")

/** The comment of a declaration: its own, or that of its first signature. */
export const commentOf = (reflection: DeclarationReflection): Comment | undefined =>
  reflection.comment ?? reflection.signatures?.find(({ comment }) => comment !== undefined)?.comment ??
    reflection.getSignature?.comment ??
    (reflection.type instanceof ReflectionType
      ? reflection.type.declaration.signatures?.find(({ comment }) => comment !== undefined)?.comment
      : undefined)

const cell = (text: string): string => text.replace(/\s*\n\s*/g, " ").replaceAll("|", "\\|")

const short = (text: string): string => text.length > 90 ? `${text.slice(0, 88)} …` : text

const typeText = (reflection: DeclarationReflection): string => {
  const type = (reflection.type?.toString() ?? reflection.signatures?.[0]?.toString() ?? "").replace(
    / \| undefined$/,
    ""
  )
  return type === "" || reflection.signatures !== undefined ? "function" : short(type)
}

/** Members that a reader uses: not the constructor, and not the keys of brands. */
export const membersOf = (reflection: DeclarationReflection): ReadonlyArray<DeclarationReflection> =>
  (reflection.children ?? []).filter(({ kind, name }) =>
    kind !== ReflectionKind.Constructor && !name.startsWith("[") && !name.startsWith("~")
  )

/** The text of an option, and its default: the sentence that begins with "Default". */
export const optionTextOf = (option: DeclarationReflection, locate: Locate): { text: string; default: string } => {
  const text = textOf(commentOf(option), locate)
  const [sentence, value] = /(?:^|\s)Default:? ((?:`[^`]*`|[^.]|\.(?=\S))+)\./.exec(text) ?? []
  return {
    text: sentence === undefined ? text : text.replace(sentence, "").trim(),
    default: option.flags.isOptional ? value ?? "–" : "required"
  }
}

/** A table of options, with their defaults. */
export const optionTable = (reflection: DeclarationReflection, locate: Locate): ReadonlyArray<string> => [
  "| option | type | default | meaning |",
  "| --- | --- | --- | --- |",
  ...membersOf(reflection).map((option) => {
    const { default: value, text } = optionTextOf(option, locate)
    return `| \`${option.name}\` | \`${cell(typeText(option))}\` | ${cell(value)} | ${cell(text)} |`
  }),
  ""
]

/** A table of the members of an interface or a class. */
export const memberTable = (reflection: DeclarationReflection, locate: Locate): ReadonlyArray<string> => {
  const members = membersOf(reflection)
  if (members.length === 0) return []
  return [
    "| name | type | meaning |",
    "| --- | --- | --- |",
    ...members.map((member) =>
      `| \`${member.name}${member.flags.isOptional ? "?" : ""}\` | \`${cell(typeText(member))}\` | ${
        cell(textOf(commentOf(member), locate))
      } |`
    ),
    ""
  ]
}

const isFunction = ({ signatures, type }: DeclarationReflection): boolean =>
  signatures !== undefined || (type instanceof ReflectionType && type.declaration.signatures !== undefined)

export const isOptions = ({ kind, name, parent }: Reflection): boolean =>
  kind === ReflectionKind.Interface &&
  (/(?:Options|Settings|Config)$/.test(name) || (name === "Budget" && /\bBudget$/.test(parent?.name ?? "")))

const sectionOf = (reflection: DeclarationReflection): string => {
  if (isFunction(reflection)) return "Functions"
  if (reflection.kind === ReflectionKind.Variable) return "Values"
  if (reflection.kind === ReflectionKind.Class) return "Classes and errors"
  return isOptions(reflection) ? "Options" : "Types"
}

const sections = ["Functions", "Values", "Classes and errors", "Options", "Types"]

/** A declaration that fills more than a screen is folded. */
const declarationBlock = (declarations: ReadonlyArray<string>): ReadonlyArray<string> => {
  const code = ["```ts", ...declarations, "```"]
  const isLong = declarations.join("\n").split("\n").length > 14 || declarations.join("\n").length > 1200
  return isLong ? ["<details>", "<summary>Declaration</summary>", "", ...code, "", "</details>"] : code
}

/** The text above the imports of a module. */
const moduleText = ({ folder, name, reflection }: Module, locate: Locate): string => {
  const own = textOf(reflection.comment, locate)
  if (own !== "") return own
  const source = readFileSync(join(root, "packages", folder, "src", `${name}.ts`), "utf8")
  const [, comment = ""] = /^\/\*\*([^]*?)\*\/\s*(?:import|export (?:type )?[{*]|\/\*)/.exec(source) ?? []
  return comment.replace(/^\s*\* ?/gm, "").replace(/\{@link (\w+)\}/g, "`$1`").trim()
}

const declarationPart = (
  all: ReadonlyArray<DeclarationReflection>,
  declarations: ReadonlyArray<string>,
  locate: Locate
): ReadonlyArray<string> => {
  const comments = [...new Set(all.map((one) => textOf(commentOf(one), locate)).filter((text) => text !== ""))]
  const [first = "", ...rest] = comments.join("\n\n").split(/(?=^\*\*Example\*\*)/m)
  const tables = all.filter(({ kind }) => kind === ReflectionKind.Interface || kind === ReflectionKind.Class)
    .flatMap((one) => isOptions(one) ? optionTable(one, locate) : memberTable(one, locate))
  return [
    `### \`${all[0]!.name}\``,
    "",
    first.trim(),
    "",
    ...declarationBlock(declarations),
    "",
    ...tables,
    ...rest,
    ""
  ]
}

/** Returns the page of a module. */
export const renderModule = (
  module: Module,
  declarations: ReadonlyMap<string, ReadonlyArray<string>> | undefined,
  locate: Locate
): string => {
  const byName = Map.groupBy(
    (module.reflection.children ?? []).filter(({ kind }) => kind !== ReflectionKind.Reference),
    ({ name }) => name
  )
  const bySection = Map.groupBy(
    byName.values(),
    (all) => sections.find((section) => all.some((one) => sectionOf(one) === section))!
  )
  const path = `@recourse/${module.folder}/${module.name}`
  return [
    `# ${module.name}`,
    "",
    "```ts",
    `import * as ${module.name} from "${path}"`,
    "```",
    "",
    moduleText(module, locate),
    "",
    ...sections.flatMap((section) => {
      const found = bySection.get(section) ?? []
      return found.length === 0 ? [] : [
        `## ${section}`,
        "",
        ...found.flatMap((all) => declarationPart(all, declarations?.get(all[0]!.name) ?? [], locate))
      ]
    })
  ].join("\n").replaceAll(/\n{3,}/g, "\n\n")
}
