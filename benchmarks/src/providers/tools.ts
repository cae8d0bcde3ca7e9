/** The tools of the requests: the first is called, the others are only described. */
import { tool } from "../Task.ts"

/** The name of a tool by its place in the request. */
export const toolName = (index: number): string => index === 0 ? tool.name : `search_orders_${index}`

export const searchDescription = "Searches the orders of a customer, newest first"

/** The fields of a tool that is only described, for each contestant to write in the schemas of its library. */
export const searchFields = {
  customer: "The id of the customer",
  states: ["open", "sent", "returned"],
  limit: "The most orders to return",
  note: "A note for the log"
} as const
