/**
 * Redaction: the second line of defence behind projections. It removes secrets from text that a tool declared for
 * others and, if enabled, from tool results. The first line of defence: undeclared text is not shown at all.
 *
 * The rules know formats, not meanings: they cannot find a secret without a format, such as a short password in a
 * sentence.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { type Rule, rules, secrets } from "./RedactionRules.ts"

export {
  entropy,
  filePaths,
  privateAddresses,
  privatePaths,
  type Rule,
  rules,
  secrets,
  sql,
  stackTraces
} from "./RedactionRules.ts"

/**
 * Removes secrets from texts.
 *
 * @category models
 * @since 0.2.0
 */
export interface Redactor {
  /** `known` is an id that every reader of the text has: a match that is this id and no more is left in. */
  readonly text: (text: string, known?: string) => string
  /** True if results of tools are redacted as well. */
  readonly results: boolean
  /** The rules of the redactor, if it is made of rules. */
  readonly rules?: ReadonlyArray<Rule> | undefined
}

/** The pattern for all matches in a text: without the flag `g`, the second secret of a text would stay in it. */
const everywhere = (pattern: RegExp): RegExp => pattern.global ? pattern : new RegExp(pattern, `${pattern.flags}g`)

/**
 * Makes a redactor of rules.
 *
 * **Example** (Redacted values)
 *
 * ```ts
 * import { Redaction } from "@recourse/core"
 *
 * const { text } = Redaction.make()
 * text("cannot connect to postgres://root:hunter2@10.0.0.7/crm") // => "cannot connect to [redacted: credentials]"
 * text("no order 4711 in /home/ada/orders.json") // => "no order 4711 in [redacted: path]"
 * text("There is no customer Ada") // => "There is no customer Ada"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (
  options?: { readonly rules?: ReadonlyArray<Rule> | undefined; readonly results?: boolean | undefined }
): Redactor => {
  const all = options?.rules ?? rules
  return {
    results: options?.results ?? false,
    rules: all,
    text: (text, known) =>
      all.reduce(
        (left, { kind, pattern, when }) =>
          left.replace(
            everywhere(pattern),
            (match) => match !== known && (when === undefined || when(match)) ? `[redacted: ${kind}]` : match
          ),
        text
      )
  }
}

/**
 * The redactor that runs use. By default all rules, on declared text only.
 *
 * @category services
 * @since 0.2.0
 */
export const Redaction: Context.Reference<Redactor> = Context.Reference<Redactor>("@recourse/core/Redaction", {
  defaultValue: () => make()
})

/**
 * A layer of another redactor.
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (redactor: Redactor): Layer.Layer<never> => Layer.succeed(Redaction, redactor)

/** Depth limit of a redacted value: deeper parts are removed whole. */
const maxDepth = 500

/** A name and its value are checked together if both are short: `password` marks any text as secret. */
const textOf = (redactor: Redactor, text: string, name: string | undefined): string => {
  const shown = redactor.text(text)
  if (shown !== text || name === undefined || name.length > 64 || text.length > 512) return shown
  const redacted = redactor.text(`${name}=${text}`)
  return redacted.includes(text) ? text : /\[redacted: [^\]]*\]/.exec(redacted)?.[0] ?? "[redacted: secret]"
}

/**
 * Redacts all texts of a value: those of arrays, maps, sets and objects, with their names. A value without secrets is
 * returned itself; one with secrets is copied, with its prototype.
 *
 * @category combinators
 * @since 0.2.0
 */
export const json = (redactor: Redactor, value: unknown): unknown => {
  const done = new Map<object, unknown>()
  const each = (items: ReadonlyArray<unknown>, depth: number, name?: string): ReadonlyArray<unknown> | undefined => {
    const shown = items.map((item) => walk(item, depth + 1, name))
    return shown.every((item, index) => Object.is(item, items[index])) ? undefined : shown
  }
  const copyOf = (value: object, depth: number, name: string | undefined): unknown => {
    if (Array.isArray(value)) return each(value, depth, name) ?? value
    if (value instanceof Set) {
      const items = each([...value], depth, name)
      return items === undefined ? value : new Set(items)
    }
    if (value instanceof Map) {
      const entries = each([...value], depth)
      return entries === undefined ? value : new Map(entries as ReadonlyArray<[unknown, unknown]>)
    }
    const entries = Object.entries(value)
    const shown = entries.map(([key, item]) => [redactor.text(key), walk(item, depth + 1, key)] as const)
    if (shown.every(([key, item], index) => key === entries[index]![0] && Object.is(item, entries[index]![1]))) {
      return value
    }
    const copy: object = Object.create(Object.getPrototypeOf(value))
    for (const [key, item] of shown) {
      Object.defineProperty(copy, key, { value: item, enumerable: true, writable: true, configurable: true })
    }
    return copy
  }
  const walk = (value: unknown, depth: number, name?: string): unknown => {
    if (typeof value === "string") return textOf(redactor, value, name)
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value
    if (depth > maxDepth) return "[redacted: nested too deep]"
    if (!done.has(value)) {
      // A circular value is returned as it is.
      done.set(value, value)
      done.set(value, copyOf(value, depth, name))
    }
    return done.get(value)
  }
  return walk(value, 0)
}

/** Rules for operators: stack traces and paths are left in. */
const forOperators = make({ rules: secrets })

/** Number of nested causes that are shown. */
const maxCauses = 8

/** A stack frame, as V8 writes it. */
const frame = /^\s+at .+(?::\d+:\d+\)?|<anonymous>\)|native\))$/

/** Paths of modules look like secrets: behind the message, places in code are left as they are. */
const stackWithoutSecrets = (stack: string, message: string): string => {
  const { text } = forOperators
  const start = stack.indexOf(message)
  if (start < 0) return text(stack)
  const [head, places] = [stack.slice(0, start + message.length), stack.slice(start + message.length)]
  return text(head) + places.split("\n").map((line) => frame.test(line) ? line : text(line)).join("\n")
}

const withoutSecrets = (error: Error, depth: number): unknown => {
  const { text } = forOperators
  const message = text(String(error.message))
  const stack = typeof error.stack === "string" ? stackWithoutSecrets(error.stack, String(error.message)) : undefined
  const isTooDeep = depth >= maxCauses && error.cause !== undefined
  const cause = isTooDeep ? undefined : shownToOperators(error.cause, depth + 1)
  const fields = Object.entries(error).map(([key, value]) => [key, json(forOperators, value)] as const)
  if (
    message === error.message && stack === error.stack && cause === error.cause &&
    fields.every(([key, value]) => Object.is(value, Reflect.get(error, key)))
  ) return error
  const copy: object = Object.create(Object.getPrototypeOf(error))
  const define = (key: string, value: unknown, enumerable: boolean) =>
    Object.defineProperty(copy, key, { value, enumerable, writable: true, configurable: true })
  for (const [key, value] of fields) define(key, value, true)
  define("message", message, false)
  define("stack", stack, false)
  define("cause", cause, false)
  return copy
}

const shownToOperators = (value: unknown, depth: number): unknown =>
  value instanceof Error ? withoutSecrets(value, depth) : json(forOperators, value)

/**
 * @internal Cause of an error, for operators: the value itself, or a redacted copy if it contains secrets. It is not
 * examined before a reader accesses it.
 */
export const operatorCause = (value: unknown): unknown => shownToOperators(value, 0)
