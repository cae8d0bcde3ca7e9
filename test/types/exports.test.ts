/** The displayed type of any exported function, applied in a typical program, is neither `any` nor `unknown`. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { clean, messages } from "./compiler.ts"
import { exportedFunctions } from "./publicExports.ts"
import { header, typical, untyped } from "./typicalPrograms.ts"

const functions = await exportedFunctions()
const keyOf = ({ module, name }: typeof functions[number]) => `${module}.${name}`

const importOf = ({ module, namespace }: typeof functions[number]) => `import * as ${namespace} from "${module}"\n`

/** None of them is `0`: the compiler's message has their types. */
const shapeOf = (one: typeof functions[number]): string =>
  `${importOf(one)}export const program: 0 = ${one.namespace}.${one.name}\n`

const answerOf = (one: typeof functions[number]): string => {
  const program = typical[keyOf(one)]
  return program === undefined
    ? `${importOf(one)}declare const answer: <A>(f: (...args: never) => A) => A
export const program: 0 = answer(${one.namespace}.${one.name})\n`
    : `${header}export const program: 0 = ${program}\n`
}

/** The compiler's type of a program, and further faults. */
const read = (found: ReadonlyArray<string>): { readonly type: string; readonly wrong: ReadonlyArray<string> } => {
  const types = found.flatMap((message) =>
    /^TS\d+: Type '(.*)' is (?:not assignable to type '0'|missing)/s.exec(message.split("\n")[0]!)?.[1] ?? []
  )
  return { type: types[0] ?? "", wrong: types.length === 1 ? found.slice(1) : found }
}

/** Without texts, and without the members of data that comes from outside: their values have no type. */
const withoutData = (type: string): string =>
  type.replaceAll(/"(?:[^"\\]|\\.)*"/g, "\"\"").replaceAll(
    /(?:readonly )?(?:\w+\??|\[\w+: string\]): (?:readonly )?unknown\b/g,
    ""
  )

describe("exported functions", () => {
  let shapes: ReadonlyArray<string> = []
  let answers: ReadonlyArray<ReturnType<typeof read>> = []

  beforeAll(() => {
    const found = messages("exports", [...functions.map(shapeOf), ...functions.map(answerOf)], ["node"])
    clean("exports")
    shapes = found.slice(0, functions.length).map((one) => read(one).type)
    answers = found.slice(functions.length).map(read)
  }, 300_000)

  for (const [index, one] of functions.entries()) {
    const key = keyOf(one)
    it(`display the result type of ${key}`, () => {
      const isGeneric = /^(?:\{ )?<|: <|\(.*\): <|; </.test(shapes[index]!)
      assert.isTrue(
        !isGeneric || key in typical,
        `${key} has type parameters: add an entry "${key}" to test/types/typicalPrograms.ts, an expression that uses it as a program would.`
      )
      const { type, wrong } = answers[index]!
      assert.deepStrictEqual(wrong, [], `The typical program of ${key} does not compile, or has the type 0.`)
      if (key in untyped) return
      assert.notMatch(
        withoutData(type),
        /\b(?:any|unknown)\b(?!\??:)/,
        `A reader of ${key} is shown any or unknown. Make its types say what it answers; where that has no type, say why in \`untyped\`.`
      )
    })
  }

  it("typical programs and exceptions are of functions that are there", () => {
    const known = new Set(functions.map(keyOf))
    assert.deepStrictEqual([...Object.keys(typical), ...Object.keys(untyped)].filter((key) => !known.has(key)), [])
  })
})
