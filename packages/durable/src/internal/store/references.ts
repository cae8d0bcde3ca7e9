/**
 * References in stored JSON: a text or a message that is stored already is named, and not stored again.
 *
 * `{"~text": [position, n]}` is the long text with the number n of a step of the same run. `{"~said": [from, to]}` is an item of an array
 * of messages: those of the run's conversation from one index to another.
 */
import type * as Schema from "effect/Schema"

const saidKey = "~said"
export const textKey = "~text"
/** Holds an object of the program's own that looks like a reference. */
const literalKey = "~~"
const keys: ReadonlySet<string> = new Set([saidKey, textKey, literalKey])

/** Texts of fewer characters are stored again: a reference is about as long. */
const shortest = 64

/** Values below so many levels are stored as they are. */
const levels = 64

/** The position of a step, and the number of a text among its long ones. Those of its value come first. */
export type TextPath = readonly [position: number, n: number]

export interface JsonObject {
  readonly [key: string]: Schema.Json
}

export const isObject = (json: unknown): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/** The only key of an object. */
const onlyKey = (object: JsonObject): string | undefined => {
  const [key, other] = Object.keys(object)
  return other === undefined ? key : undefined
}

/** True for a message of a conversation, in JSON. */
const isMessage = (json: unknown): boolean => isObject(json) && typeof json["role"] === "string" && "content" in json

const mapped = (object: JsonObject, change: (json: Schema.Json) => Schema.Json): JsonObject => {
  const out: Record<string, Schema.Json> = {}
  for (const key of Object.keys(object)) {
    const value = change(object[key]!)
    // Assigned, it would become the prototype.
    if (key === "__proto__") {
      Object.defineProperty(out, key, { value, enumerable: true, configurable: true, writable: true })
    } else out[key] = value
  }
  return out
}

const hasJson = (value: object): value is { readonly toJSON: () => Schema.Json } =>
  "toJSON" in value && typeof value.toJSON === "function"

/** JSON as text with sorted keys: a program may write the keys of a message in any order, and a database may change it. */
export const canonical = (value: Schema.Json): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  if (Array.isArray(value)) return `[${(value as ReadonlyArray<Schema.Json>).map(canonical).join(",")}]`
  if (hasJson(value)) return canonical(value.toJSON())
  const object = value as JsonObject
  const fields = Object.keys(object).sort().flatMap((key) =>
    object[key] === undefined ? [] : [`${JSON.stringify(key)}:${canonical(object[key])}`]
  )
  return `{${fields.join(",")}}`
}

/** Returns the long texts of JSON, in its order. References hold none. */
export const longTexts = (json: Schema.Json): ReadonlyArray<string> => {
  const texts: Array<string> = []
  const visit = (value: Schema.Json, level: number): void => {
    if (typeof value === "string") {
      if (value.length >= shortest) texts.push(value)
      return
    }
    if (typeof value !== "object" || value === null || level >= levels) return
    for (const item of Object.values(value)) visit(item as Schema.Json, level + 1)
  }
  visit(json, 0)
  return texts
}

/** True if two values are the same JSON. */
const isSame = (one: unknown, other: unknown): boolean => {
  if (one === other) return true
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [a, b] = [one, other] as [Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]
  const names = Object.keys(a)
  return names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
}

/** Hash that equal messages share, and few others: to compare a message with few. */
const printOf = (message: Schema.Json): string => {
  const { content, role } = message as { readonly role?: unknown; readonly content?: unknown }
  const text = Array.isArray(content) ? (content[0] as { readonly text?: unknown } | undefined)?.text : content
  return `${String(role)} ${typeof text === "string" ? `${text.length} ${text.slice(0, 20)}` : ""}`
}

/** The texts and messages of a run that are stored already, with their names. */
export class References {
  private readonly texts = new Map<string, TextPath>()
  /** The messages of the run's conversation. */
  private readonly messages: Array<Schema.Json> = []
  private readonly indexes = new Map<string, Array<number>>()

  constructor(messages: ReadonlyArray<Schema.Json>) {
    this.extend(messages)
  }

  /** Adds messages to the conversation. */
  extend(messages: ReadonlyArray<Schema.Json>): void {
    for (const message of messages) {
      const print = printOf(message)
      const indexes = this.indexes.get(print)
      if (indexes === undefined) this.indexes.set(print, [this.messages.length])
      else indexes.push(this.messages.length)
      this.messages.push(message)
    }
  }

  /** Number of the conversation's messages. */
  get size(): number {
    return this.messages.length
  }

  /**
   * Returns the index at which the conversation ends in a transcript; `undefined` if the transcript does not start with
   * it, behind instructions.
   */
  endIn(transcript: ReadonlyArray<Schema.Json>): number | undefined {
    const first = transcript.findIndex((message) => isObject(message) && message["role"] !== "system")
    for (let start = 0; start <= Math.max(first, 0) && start + this.size <= transcript.length; start++) {
      if (this.messages.every((message, n) => isSame(message, transcript[start + n]))) return start + this.size
    }
    return undefined
  }

  /** The place of a message in the conversation. */
  private indexOf(message: Schema.Json): number | undefined {
    return this.indexes.get(printOf(message))?.find((index) => isSame(this.messages[index], message))
  }

  /** Notes the long texts of a step's value, or of its events: `before` is the count of the value's. */
  note(position: number, texts: ReadonlyArray<string>, before = 0): void {
    texts.forEach((text, n) => {
      if (!this.texts.has(text)) this.texts.set(text, [position, before + n])
    })
  }

  /** Returns the JSON with references in place of texts and messages that are stored already. */
  pack(json: Schema.Json): Schema.Json {
    return this.packed(json, (text) => {
      const path = text.length < shortest ? undefined : this.texts.get(text)
      return path === undefined ? text : { [textKey]: path }
    })
  }

  /** Returns the JSON with references in place of the messages of the conversation. Texts stay. */
  packMessages(json: Schema.Json): Schema.Json {
    return this.packed(json, (text) => text)
  }

  private packed(json: Schema.Json, textOf: (text: string) => Schema.Json): Schema.Json {
    const pack = (value: Schema.Json, level: number): Schema.Json => {
      if (typeof value === "string") return textOf(value)
      if (typeof value !== "object" || value === null || level >= levels) return value
      if (Array.isArray(value)) {
        return this.packedItems(value as ReadonlyArray<Schema.Json>, (one) => pack(one, level + 1))
      }
      const object = mapped(value as JsonObject, (item) => pack(item, level + 1))
      return keys.has(onlyKey(object) ?? "") ? { [literalKey]: object } : object
    }
    return pack(json, 0)
  }

  private packedItems(items: ReadonlyArray<Schema.Json>, pack: (json: Schema.Json) => Schema.Json): Schema.Json {
    const out: Array<Schema.Json> = []
    let range: [from: number, to: number] | undefined
    for (const item of items) {
      if (range !== undefined && range[1] < this.size && isSame(this.messages[range[1]], item)) {
        range[1]++
        continue
      }
      const index = isMessage(item) ? this.indexOf(item) : undefined
      range = index === undefined ? undefined : [index, index + 1]
      out.push(range === undefined ? pack(item) : { [saidKey]: range })
    }
    return out
  }
}

/** Targets of references. */
export interface Named {
  readonly said: (from: number, to: number) => ReadonlyArray<Schema.Json>
  readonly text: (path: TextPath) => Schema.Json
}

const rangeOf = (json: unknown): readonly [number, number] | undefined =>
  isObject(json) && onlyKey(json) === saidKey && Array.isArray(json[saidKey])
    ? json[saidKey] as unknown as readonly [number, number]
    : undefined

const pathOf = (object: JsonObject): TextPath | undefined =>
  onlyKey(object) === textKey && Array.isArray(object[textKey]) ? object[textKey] as unknown as TextPath : undefined

/** Returns the JSON with all that its references name. */
export const unpack = (json: Schema.Json, named: Named): Schema.Json => {
  const whole = (value: Schema.Json, level: number): Schema.Json => {
    if (typeof value !== "object" || value === null || level >= levels) return value
    if (Array.isArray(value)) {
      return (value as ReadonlyArray<Schema.Json>).flatMap((item) => {
        const range = rangeOf(item)
        return range === undefined ? [whole(item, level + 1)] : named.said(...range)
      })
    }
    const object = value as JsonObject
    const path = pathOf(object)
    if (path !== undefined) return named.text(path)
    const literal = onlyKey(object) === literalKey ? object[literalKey] : undefined
    return mapped(isObject(literal) ? literal : object, (item) => whole(item, level + 1))
  }
  return whole(json, 0)
}

/** Rows that are needed to unpack JSON: steps, and so many messages of the conversation. */
export interface ReferencedMessages {
  readonly positions: ReadonlySet<number>
  readonly messages: number
}

/** Returns the steps and messages that JSON names. */
export const namedIn = (json: Schema.Json): ReferencedMessages => {
  const positions = new Set<number>()
  let messages = 0
  unpack(json, {
    said: (_, to) => {
      messages = Math.max(messages, to)
      return []
    },
    text: ([position]) => {
      positions.add(position)
      return ""
    }
  })
  return { positions, messages }
}
