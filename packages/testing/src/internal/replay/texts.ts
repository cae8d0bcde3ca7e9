/** Values with other fields, and with other texts. */

/** A copy with other fields, and the same prototype; the same object, if no field differs. */
export const withFields = <A extends object>(object: A, field: (key: string, value: unknown) => unknown): A => {
  const changed = Object.entries(object).flatMap(([key, value]: [string, unknown]) => {
    const other = field(key, value)
    return Object.is(other, value) ? [] : [[key, other] as const]
  })
  if (changed.length === 0) return object
  const copy = Object.create(Object.getPrototypeOf(object) as object, Object.getOwnPropertyDescriptors(object)) as A
  for (const [key, value] of changed) {
    Object.defineProperty(copy, key, { value, enumerable: true, writable: true, configurable: true })
  }
  return copy
}

/** The same list, if no item differs. */
export const each = <A>(items: ReadonlyArray<A>, item: (item: A) => A): ReadonlyArray<A> => {
  const others = items.map((one) => item(one))
  return others.every((other, index) => Object.is(other, items[index])) ? items : others
}

const withKeys = (object: object, key: (key: string) => string): object => {
  const keys = Object.keys(object)
  const others = each(keys, key)
  return others === keys
    ? object
    : Object.defineProperties(
      Object.create(Object.getPrototypeOf(object) as object) as object,
      Object.fromEntries(keys.map((key, index) => [others[index]!, Object.getOwnPropertyDescriptor(object, key)!]))
    )
}

/** A value with other texts; the callback receives each with its name. Names are texts as well; tags are not. */
export const mapTexts = (value: unknown, text: (text: string, name?: string) => string): unknown => {
  const done = new Map<object, unknown>()
  const walk = (value: unknown, name?: string): unknown => {
    if (typeof value === "string") return text(value, name)
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value
    if (Array.isArray(value)) return each(value, (item: unknown) => walk(item, name))
    if (value instanceof Map || value instanceof Set) {
      const items = [...value] as ReadonlyArray<unknown>
      const others = each(items, (item) => walk(item, name))
      if (others === items) return value
      return value instanceof Map ? new Map(others as ReadonlyArray<[unknown, unknown]>) : new Set(others)
    }
    if (!done.has(value)) {
      // A circular value is returned as it is.
      done.set(value, value)
      done.set(
        value,
        withKeys(withFields(value, (key, item) => key === "_tag" ? item : walk(item, key)), (key) => text(key))
      )
    }
    return done.get(value)
  }
  return walk(value)
}
