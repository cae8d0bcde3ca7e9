/** Nearest name: the known name that a misspelt one was probably meant as. */

/** Number of letters that are inserted, removed, replaced or swapped with their neighbour. */
const distance = (a: string, b: string): number => {
  let older: Array<number> = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      row[j] = Math.min(previous[j]! + 1, row[j - 1]! + 1, replaced)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j]!, older[j - 2]! + 1)
      }
    }
    older = previous
    previous = row
  }
  return previous[b.length]!
}

const longest = 64

/** Returns the nearest of the known names; `undefined` if none is near: more than a third of its letters differ. */
export const nearestName = (name: string, known: ReadonlyArray<string>): string | undefined => {
  if (name.length > longest) return undefined
  let nearest: string | undefined
  let least = Infinity
  for (const candidate of known) {
    const far = distance(name.toLowerCase(), candidate.toLowerCase())
    if (far < least && far <= Math.max(1, Math.floor(candidate.length / 3))) {
      nearest = candidate
      least = far
    }
  }
  return nearest
}
