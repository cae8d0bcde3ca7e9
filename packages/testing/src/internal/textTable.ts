/** Tables for terminals. */

const align = (cell: string, width: number): string =>
  /^[\d.]+( ms| %)?$/.test(cell) ? cell.padStart(width) : cell.padEnd(width)

/** A table with a line under its head; numbers stand at the right. */
export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>) =>
    cells.map((cell, column) => align(cell, widths[column] ?? 0)).join("  ").trimEnd()
  return [line(head), widths.map((width) => "─".repeat(width)).join("  "), ...rows.map(line)].join("\n")
}
