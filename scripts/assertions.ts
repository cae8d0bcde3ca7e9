/** Assertions of examples in documentation: a trailing `// => value` behind an expression. */

const asserted = /^(.*?)\s*\/\/ => (.*)$/

const beginsStatement = (line: string): boolean => /^[^\s)\]}]/.test(line)

/** An example may print its value: `console.log(expression) // => value`. */
const printed = /^console\.log\(([^]*)\)$/

const valueOf = (lines: ReadonlyArray<string>): string => {
  const expression = lines.join("\n")
  return printed.exec(expression)?.[1] ?? expression
}

/** Turns `expression // => value` into an assertion. An expression begins at the last line that begins a statement. */
export const withAssertions = (code: ReadonlyArray<string>): ReadonlyArray<string> => {
  const out: Array<string> = []
  let pending: Array<string> = []
  for (const line of code) {
    const match = asserted.exec(line)
    if (match !== null) {
      pending.push(match[1]!)
      const begin = pending.findLastIndex(beginsStatement)
      out.push(...pending.slice(0, begin), `assert.deepStrictEqual(`, valueOf(pending.slice(begin)), `, ${match[2]})`)
      pending = []
    } else if (line.trim() === "") {
      out.push(...pending, "")
      pending = []
    } else pending.push(line)
  }
  return [...out, ...pending]
}
