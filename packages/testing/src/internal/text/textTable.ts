/** Tables for terminals. */

/** A number, or the sign of one that is not there. */
const number = /^(·|[\d.,]+( ms| min| h| %)?( – [\d.]+ %)?)$/

/** A table with a line under its head; columns of numbers are right-aligned. */
export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const columns = head.map((title, column) => {
    const cells = rows.map((row) => row[column] ?? "")
    return {
      width: Math.max(title.length, ...cells.map((cell) => cell.length)),
      isNumeric: cells.length > 0 && cells.every((cell) => number.test(cell))
    }
  })
  const line = (cells: ReadonlyArray<string>) =>
    columns
      .map(({ isNumeric, width }, column) => cells[column]?.[isNumeric ? "padStart" : "padEnd"](width) ?? "")
      .join("  ")
      .trimEnd()
  return [line(head), columns.map(({ width }) => "─".repeat(width)).join("  "), ...rows.map(line)].join("\n")
}
