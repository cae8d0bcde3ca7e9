/** Definition of a tool as models are sent it. */
import * as AiTool from "effect/ai/Tool"
import { modelSchema } from "../foundation/schema/modelSchema.ts"

/** Returns the definition with the JSON Schema that models are sent, if it has a JSON Schema that providers would refuse. */
export const modelDefinition = (definition: AiTool.Any): AiTool.Any => {
  if (!AiTool.isDynamic(definition) || definition.jsonSchema === undefined) return definition
  const jsonSchema = modelSchema(definition.jsonSchema)
  return jsonSchema === definition.jsonSchema
    ? definition
    : Object.assign(Object.create(Object.getPrototypeOf(definition)), definition, { jsonSchema })
}
