/** Texts for columns of any database. PostgreSQL refuses a text with a NUL, which programs, models and pasted texts have. */

/** A text without NUL. */
export const withoutNul = (text: string): string => text.replaceAll("\u0000", "")

/** The values of a row, with texts without NUL. */
export const rowWithoutNul = <Row extends Readonly<Record<string, unknown>>>(row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [column, typeof value === "string" ? withoutNul(value) : value])
  ) as Row
