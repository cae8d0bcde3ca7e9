/** Own fields: reads a field of a value that a server sent, never one that every object inherits. */
export const ownField = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined
