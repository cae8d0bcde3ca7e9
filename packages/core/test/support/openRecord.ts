/** Open records of calls: tests read and write the fields of all states by their names, past the functions that write them. */
type States = Record<string, Record<string, unknown>>

const { newRecord }: { readonly newRecord: (id: string, made?: object) => States } = await import(
  new URL("../../src/internal/call/record/record.ts", import.meta.url).href
) as never

const shared = newRecord("shared")
const states = ["attempts", "outcome", "recovering", "admission", "claiming", "replay", "children", "marks"]

/** Gives a record a property for each field of its states. A shared state becomes the record's own when a test writes it. */
export const open = <A>(closed: A): A => {
  const record = closed as States
  if (Object.hasOwn(record, "closedBy")) return closed
  for (const state of states) {
    // The record itself holds its attempts and its outcome.
    if (record[state] as unknown === record) continue
    for (const field of Object.keys(record[state]!)) {
      Object.defineProperty(record, field, {
        get: () => record[state]![field],
        set: (value: unknown) => {
          if (record[state] === shared[state]) {
            record[state] = Object.assign(Object.create(Object.getPrototypeOf(shared[state]!) as object), shared[state])
          }
          record[state]![field] = value
        }
      })
    }
  }
  return closed
}

/** Returns the open record of a new call. */
export const openRecord = <A = Record<string, unknown>>(id: string, made: object = {}): A =>
  open(newRecord(id, made) as A)
