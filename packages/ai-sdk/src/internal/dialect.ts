/** Dialects of JSON Schema: each schema or definition is transformed once. */
import type * as LanguageModel from "effect/ai/LanguageModel"

export type Transformer = LanguageModel.CodecTransformer

/** Returns the function with cached results, by the transformer and by the source object. Exceptions are not cached. */
export const oncePerDialect = <Key extends object, A>(
  make: (key: Key, transformer: Transformer) => A
): (key: Key, transformer: Transformer) => A => {
  const known = new WeakMap<Transformer, WeakMap<Key, { readonly made: A }>>()
  return (key, transformer) => {
    let ofTransformer = known.get(transformer)
    if (ofTransformer === undefined) known.set(transformer, ofTransformer = new WeakMap())
    const found = ofTransformer.get(key) ?? { made: make(key, transformer) }
    ofTransformer.set(key, found)
    return found.made
  }
}
