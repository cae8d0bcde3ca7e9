/** Licences of the components in a bill of materials (CycloneDX), against those that the library allows in a program of its users. */
import type { PackedPackage } from "./packedPackage.ts"

type Licence = { readonly expression: string } | { readonly license: { readonly id?: string; readonly name?: string } }

export interface Component {
  readonly group?: string
  readonly name: string
  readonly version: string
  readonly licenses?: ReadonlyArray<Licence>
}

export interface BillOfMaterials {
  readonly metadata: { readonly component: Component }
  readonly components: ReadonlyArray<Component>
}

/** Licences that ask for nothing but their notice. */
export const allowedLicences: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT"
])

/** True if an expression of SPDX can be fulfilled by allowed licences alone. An exception (`WITH`) is part of its licence's name. */
export const isAllowed = (expression: string): boolean => {
  const tokens = expression.match(/[()]|[^\s()]+/g) ?? []
  let at = 0
  const term = (): boolean => {
    const token = tokens[at++]
    if (token === "(") {
      const inner = either()
      return tokens[at++] === ")" && inner
    }
    if (tokens[at] !== "WITH") return token !== undefined && allowedLicences.has(token)
    at += 2
    return false
  }
  const all = (): boolean => {
    let holds = term()
    while (tokens[at] === "AND") {
      at++
      holds = term() && holds
    }
    return holds
  }
  function either(): boolean {
    let holds = all()
    while (tokens[at] === "OR") {
      at++
      holds = all() || holds
    }
    return holds
  }
  return either() && at === tokens.length
}

const textOf = (licence: Licence): string =>
  "expression" in licence ? licence.expression : licence.license.id ?? licence.license.name ?? ""

/** Returns the full name of a component. */
export const nameOf = ({ group, name }: Component): string => group === undefined ? name : `${group}/${name}`

/** Returns a sentence for each component without a licence, or with one that is not allowed. */
export const licenceProblems = ({ components, metadata }: BillOfMaterials): ReadonlyArray<string> =>
  components.flatMap((component) => {
    const licences = (component.licenses ?? []).map(textOf)
    if (licences.length > 0 && licences.every(isAllowed)) return []
    const named = licences.length === 0 ? "no licence" : `the licence ${licences.join(", ")}`
    return [`${nameOf(metadata.component)} needs ${nameOf(component)} ${component.version}, which has ${named}.`]
  })

/** Returns a sentence for each dependency and peer of a package that its bill of materials lacks. */
export const missingComponents = (bill: BillOfMaterials, { manifest }: PackedPackage): ReadonlyArray<string> => {
  const listed = new Set(bill.components.map(nameOf))
  return Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies })
    .filter((name) => !listed.has(name))
    .map((name) => `${manifest.name}: the bill of materials lacks ${name}.`)
}
