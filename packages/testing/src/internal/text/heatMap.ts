/** Heat map as SVG: counts by row and column. */
import { escapeXml } from "./xml.ts"

/** A cell: a count, and a text for zero. */
export interface Cell {
  readonly count: number
  readonly title?: string | undefined
}

/** Content of the map. */
export interface HeatMap {
  readonly title: string
  readonly rows: ReadonlyArray<string>
  readonly columns: ReadonlyArray<string>
  readonly cell: (row: string, column: string) => Cell | undefined
}

const size = 26
const margin = 16

const left = (rows: ReadonlyArray<string>): number =>
  margin + Math.max(60, ...rows.map((row) => Array.from(row).length * 8))

/** Below the title, and below the names of the columns, which are written slanted. */
const above = (columns: ReadonlyArray<string>): number =>
  44 + Math.ceil(Math.max(0, ...columns.map((column) => Array.from(column).length * 5.6)))

/** From light to dark blue, readable without colours. */
const shade = (share: number): string => {
  const part = (from: number, to: number) => Math.round(from + (to - from) * share)
  return `rgb(${part(222, 8)},${part(235, 48)},${part(247, 107)})`
}

/** The picture. */
export const heatMap = ({ cell, columns, rows, title }: HeatMap): string => {
  const x0 = left(rows)
  const top = above(columns)
  const most = Math.max(1, ...rows.flatMap((row) => columns.map((column) => cell(row, column)?.count ?? 0)))
  const [width, height] = [x0 + columns.length * size + margin + 120, top + rows.length * size + margin]
  const cells = rows.flatMap((row, r) =>
    columns.flatMap((column, c) => {
      const found = cell(row, column)
      const [x, y] = [x0 + c * size, top + r * size]
      if (found === undefined) return []
      const share = Math.log1p(found.count) / Math.log1p(most)
      const label = `${row}: ${column}: ${found.count === 0 ? found.title ?? "never" : `${found.count} times`}`
      return [
        `<g><title>${escapeXml(label)}</title>`,
        `<rect x="${x}" y="${y}" width="${size - 2}" height="${size - 2}" fill="${
          found.count === 0 ? "#fff" : shade(share)
        }" stroke="#b0b0b0"/>`,
        found.count === 0
          ? `<path d="M${x + 6} ${y + 6}l12 12m0-12l-12 12" stroke="#b0b0b0"/>`
          : `<text x="${x + size / 2 - 1}" y="${y + 16}" text-anchor="middle" class="count" fill="${
            share > 0.5 ? "#fff" : "#222"
          }">${found.count}</text>`,
        "</g>"
      ]
    })
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    "<style>text{font:12px system-ui,sans-serif}.count{font-size:10px}.title{font-size:15px;font-weight:600}</style>",
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${margin}" y="26" class="title" fill="#222">${escapeXml(title)}</text>`,
    ...columns.map((column, c) =>
      `<text transform="translate(${x0 + c * size + 16} ${top - 8}) rotate(-50)" fill="#222">${
        escapeXml(column)
      }</text>`
    ),
    ...rows.map((row, r) =>
      `<text x="${x0 - 8}" y="${top + r * size + 17}" text-anchor="end" fill="#222">${escapeXml(row)}</text>`
    ),
    ...cells,
    "</svg>",
    ""
  ].join("\n")
}
