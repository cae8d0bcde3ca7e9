/** State holders: classes and interfaces with members that can change, and the files that assign them. */
import type { types as t } from "@babel/core"
import type { Assignment } from "./assignments.ts"
import { changingMembers, mutableType } from "./definitions.ts"
import { parse, type Source, walk } from "./source.ts"

export interface Holder {
  readonly path: string
  readonly name: string
  readonly fields: ReadonlyArray<string>
  readonly changing: ReadonlyArray<string>
}

type Field = t.TSPropertySignature | t.ClassProperty

const isField = (node: t.Node): node is Field => node.type === "TSPropertySignature" || node.type === "ClassProperty"

const keyOf = ({ key }: Field): string => key.type === "Identifier" ? key.name : ""

const typeOf = (text: string, field: Field): string => {
  const node = field.typeAnnotation?.type === "TSTypeAnnotation"
    ? field.typeAnnotation.typeAnnotation
    : field.type === "ClassProperty"
    ? field.value
    : undefined
  return node === undefined || node === null ? "" : text.slice(node.start!, node.end!)
}

/** All classes and interfaces of a file. */
export const shapesOf = ({ path, text }: Source): ReadonlyArray<Holder> => {
  const shapes: Array<Holder> = []
  walk(parse(text), (node) => {
    if (node.type !== "TSInterfaceDeclaration" && node.type !== "ClassDeclaration") return
    const fields = (node.body.body as ReadonlyArray<t.Node>).filter(isField).filter((field) =>
      field.type !== "ClassProperty" || !field.static
    )
    shapes.push({
      path,
      name: node.id?.name ?? "",
      fields: fields.map(keyOf),
      changing: fields.filter((field) => field.readonly !== true || mutableType.test(typeOf(text, field))).map(keyOf)
    })
  })
  return shapes
}

export const holdersOf = (sources: ReadonlyArray<Source>): ReadonlyArray<Holder> =>
  sources.flatMap(shapesOf).filter(({ changing }) => changing.length >= changingMembers)

/** The holders with a field that another file assigns. */
export const sharedHolders = (
  holders: ReadonlyArray<Holder>,
  assignments: ReadonlyArray<Assignment>
): ReadonlyArray<Holder> =>
  holders.filter(({ name, path }) => assignments.some(({ declaredIn, owner }) => declaredIn === path && owner === name))
