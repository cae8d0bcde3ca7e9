/** A question of a tool to the reader, in the arguments of its call: a choice, a text or a confirmation. Pure. */

export type Question =
  | {
    readonly kind: "choice"
    readonly question: string
    readonly choices: ReadonlyArray<string>
    readonly isMultiple: boolean
  }
  | { readonly kind: "text"; readonly question: string }
  | { readonly kind: "confirmation"; readonly question: string }

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== ""

/** Most choices that a form shows. */
const most = 50

/**
 * Reads the question of a call of a client tool: `question`, and `kind`, `choices` and `multiple`. Without a kind it is a choice if there are
 * choices, and else a text. Other arguments are no question.
 */
export const questionIn = (input: unknown): Question | undefined => {
  if (typeof input !== "object" || input === null) return undefined
  const { choices, kind, multiple, question } = input as Readonly<Record<string, unknown>>
  if (!isText(question)) return undefined
  const texts = Array.isArray(choices) ? [...new Set(choices.filter(isText))].slice(0, most) : []
  switch (kind ?? (texts.length > 0 ? "choice" : "text")) {
    case "choice":
      return texts.length === 0
        ? undefined
        : { kind: "choice", question, choices: texts, isMultiple: multiple === true }
    case "text":
      return { kind: "text", question }
    case "confirmation":
      return { kind: "confirmation", question }
    default:
      return undefined
  }
}
