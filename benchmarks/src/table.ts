/** Markdown tables with columns as wide as their cells, in the form of the repository's formatter. */
const cells = (row: ReadonlyArray<string>, widths: ReadonlyArray<number>, fill = " "): string =>
  `| ${row.map((cell, at) => cell.padEnd(widths[at]!, fill)).join(" | ")} |`

export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((row) => row[at]!.length)))
  return [cells(head, widths), cells(head.map(() => ""), widths, "-"), ...rows.map((row) => cells(row, widths))].join(
    "\n"
  )
}
