/** Bar chart as SVG: groups under each other, with one bar for each series. */
import { escapeXml } from "./xml.ts"

export interface Bar {
  /** Its length relative to the longest possible one. */
  readonly share: number
  readonly text: string
  /** The interval in which the share lies, if it is an estimate. */
  readonly interval?: { readonly low: number; readonly high: number } | undefined
}

export interface Bars {
  readonly title: string
  readonly series: ReadonlyArray<string>
  readonly groups: ReadonlyArray<{ readonly label: string; readonly bars: ReadonlyArray<Bar> }>
  /** Text below the names of the series. */
  readonly note: string
}

/**
 * Colours that the colour-blind can distinguish too (Okabe and Ito, 2008), those with the best contrast to white first.
 */
const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9"]

const left = 236
const length = 380
const margin = 16
const total = left + length + 110
const thickness = 16
const gap = 14
const lineHeight = 18

/** Of Latin letters the wide ones of wide fonts are nearly as wide as they are high; others are assumed to be as wide. */
const widthOf = (char: string, size: number): number => size * (/[a-z0-9 .,:;!'()-]/.test(char) ? 0.64 : 1)

/** A text in lines no wider than `width`, broken between words if there are any. */
const wrapped = (text: string, width: number, size: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  let room = width
  for (const word of text.split(/(?<=\s)/)) {
    const needs = Array.from(word).reduce((sum, char) => sum + widthOf(char, size), 0)
    if (needs > room && line !== "" && needs <= width) {
      lines.push(line)
      line = ""
      room = width
    }
    for (const char of word) {
      const needs = widthOf(char, size)
      if (needs > room) {
        lines.push(line)
        line = ""
        room = width
      }
      line += char
      room -= needs
    }
  }
  return [...lines, line].map((line) => line.trimEnd())
}

const rounded = (n: number): number => Math.round(n * 10) / 10

/** The picture. */
export const bars = ({ groups, note, series, title }: Bars): string => {
  const parts: Array<string> = []
  let y = 6
  const write = (x: number, lines: ReadonlyArray<string>, attributes = "") => {
    for (const line of lines) {
      y += lineHeight
      parts.push(`<text x="${x}" y="${y}"${attributes}>${escapeXml(line)}</text>`)
    }
  }
  const colour = (index: number) => colours[index % colours.length]

  write(margin, wrapped(title, total - 2 * margin, 15), " class=\"title\"")
  y += 4
  for (const [index, name] of series.entries()) {
    parts.push(`<rect x="${margin}" y="${y + 8}" width="11" height="11" fill="${colour(index)}"/>`)
    write(margin + 18, wrapped(name, total - 2 * margin - 18, 12))
  }
  write(margin, wrapped(note, total - 2 * margin, 11), " class=\"value\"")
  y += gap

  const top = y
  for (const { bars, label } of groups) {
    const height = bars.length * thickness
    parts.push(`<text x="${left - 10}" y="${y + height / 2 + 3}" text-anchor="end">${escapeXml(label)}</text>`)
    for (const [index, { interval, share, text }] of bars.entries()) {
      const width = rounded(share * length)
      parts.push(
        `<rect x="${left}" y="${y}" width="${width}" height="${thickness - 2}" fill="${colour(index)}"/>`
      )
      if (interval !== undefined) {
        const [low, high] = [left + rounded(interval.low * length), left + rounded(interval.high * length)]
        const middle = y + thickness / 2 - 1
        const line = `M${low} ${middle - 3}v6M${low} ${middle}H${high}M${high} ${middle - 3}v6`
        parts.push(`<path d="${line}" class="halo"/><path d="${line}" class="interval"/>`)
      }
      const end = left + Math.max(width, rounded((interval?.high ?? 0) * length))
      parts.push(`<text x="${end + 8}" y="${y + thickness - 5}" class="value">${escapeXml(text)}</text>`)
      y += thickness
    }
    y += gap
  }
  parts.push(`<line x1="${left}" y1="${top - 4}" x2="${left}" y2="${y - gap + 2}" stroke="#767676"/>`)

  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${total}" height="${y}" viewBox="0 0 ${total} ${y}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    "<style>text{font:12px system-ui,sans-serif;fill:#222}.value{font-size:11px;fill:#555}.title{font-size:15px;font-weight:600}" +
    ".interval{stroke:#222;fill:none}.halo{stroke:#fff;stroke-width:3;fill:none}</style>",
    `<rect width="100%" height="100%" fill="#fff"/>`,
    ...parts,
    "</svg>",
    ""
  ].join("\n")
}
